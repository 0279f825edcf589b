"""ggml's type numbers -> what they are called and how many bytes their blocks take.

Layer: checkpoint. The gguf package's tables, and the one place that needs it to inspect.
"""

from functools import lru_cache
from typing import NamedTuple

from speccompose.errors import UsageError


class GgmlType(NamedTuple):
    """``weights`` elements are stored in ``bytes``."""

    name: str
    weights: int
    bytes: int


@lru_cache(maxsize=1)
def ggml_types() -> dict[int, GgmlType]:
    """Every type by number.

    Raises:
        UsageError: the gguf package is not installed.
    """
    try:
        # Imported where used: it pulls in numpy, and only GGUF files need it.
        from gguf import GGML_QUANT_SIZES
    except ImportError:
        raise UsageError(
            "reading a GGUF needs the gguf package",
            hint="pip install 'speccompose[inspect]'",
            code="gguf_not_installed",
        ) from None
    return {
        int(kind): GgmlType(str(kind.name).lower(), int(weights), int(size))
        for kind, (weights, size) in GGML_QUANT_SIZES.items()
    }
