"""Tables -> what files say against each other, each at its place.

Layer: catalog. Ids that another table lacks, ranges that are empty, entries that stand twice.
Decides nothing: which image or method is taken is plan's business.
"""

from collections.abc import Iterator

from speccompose.catalog.crosscheck_boards import check_devices, check_releases, check_socs
from speccompose.catalog.crosscheck_engines import check_engines, check_flags, check_methods
from speccompose.catalog.crosscheck_images import check_images
from speccompose.catalog.crosscheck_models import check_models
from speccompose.catalog.tables import Contradiction, Tables


def contradictions(tables: Tables) -> Iterator[Contradiction]:
    """Yield every contradiction, table by table."""
    yield from check_releases(tables)
    yield from check_socs(tables)
    yield from check_devices(tables)
    yield from check_images(tables)
    yield from check_models(tables)
    yield from check_methods(tables)
    yield from check_engines(tables)
    yield from check_flags(tables)
