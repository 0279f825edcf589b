"""What one version of an engine was found to take.

Layer: engines. The type between the readers (``vllm``, ``llama_cpp``) and ``history``.
"""

from speccompose.vocab.base import Frozen


class Option(Frozen, frozen=True, kw_only=True):
    """One flag or field with all its spellings, the main one first.

    ``values``: what it takes, when the source lists that; ``numbers``: whole numbers too;
    ``other_values``: anything.
    ``any_case``: it takes its values in upper or lower case, with - or _.
    """

    names: tuple[str, ...]
    takes_value: bool = True
    values: tuple[str, ...] = ()
    other_values: bool = False
    numbers: bool = False
    any_case: bool = False


class Reading(Frozen, frozen=True, kw_only=True):
    """Everything read from one version; ``source`` is the file that it came in."""

    version: str
    source: str
    flags: tuple[Option, ...]
    speculation_fields: tuple[Option, ...] = ()
