"""Values become one self-contained HTML page: no network, no script, light and dark.

Layer: report. Pure. Templates lie in pages/; every value is escaped, drawings are our own markup.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment


class Tile(NamedTuple):
    """One figure in large type, what it is, and what to compare it with."""

    label: str
    value: str
    detail: str = ""


class Figure(NamedTuple):
    """A drawing under a title; ``note`` says how to read it."""

    title: str
    svg: str
    note: str = ""


class Table(NamedTuple):
    """Rows under heads; all columns but the first are figures."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def html_page(template: str, values: Mapping[str, object]) -> str:
    """Fill a template of pages/ (without its ending)."""
    return _environment().get_template(f"{template}.html.j2").render(values)


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    # Imported where used: no verb but the ones that write a page waits for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("speccompose.report", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
