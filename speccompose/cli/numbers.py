"""Numbers as people mean them: ASCII digits, finite, and no larger than anything is here.

Layer: cli. Python would also take other scripts' digits, 1_000, nan and inf.
"""

import math
import re
from typing import Any, Final

import click

LARGEST: Final = 10**9
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Whole(click.IntRange):
    """A whole number, at most ``LARGEST`` where nothing less is said; not ``bounded``: plan options
    have limits of their own, with their own words."""

    def __init__(
        self, min: int | None = None, max: int | None = None, *, bounded: bool = True
    ) -> None:
        super().__init__(min, max)
        self.bounded = bounded

    def _describe_range(self) -> str:
        """In help texts: nothing where there is no limit, which click would show as x<=None."""
        return super()._describe_range() if (self.min, self.max) != (None, None) else ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; what is none is refused."""
        if isinstance(value, str) and not _WHOLE.fullmatch(value):
            self.fail(f"{value!r} is not a whole number", param, ctx)
        found = super().convert(value, param, ctx)
        if self.bounded and abs(found) > LARGEST:
            self.fail(f"{value} is more than anything here can be", param, ctx)
        return found


class Number(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; what is none, or has no end, is refused."""
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            self.fail(f"{value!r} is not a number", param, ctx)
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number", param, ctx)
        return found
