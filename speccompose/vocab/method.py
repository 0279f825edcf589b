"""Speculation methods: which engine has them since when, and where their depth starts.

Layer: vocab. Filled from profiles/methods/<id>.yaml (rules section 3).
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen, Sourced
from speccompose.vocab.drafting import AcceptanceFigures, DraftShape

MethodId = Literal["mtp", "eagle3", "dflash", "dspark", "draft_model", "ngram"]
MethodRequest = Literal["auto", "none", "mtp", "eagle3", "dflash", "dspark", "draft_model", "ngram"]


class MethodOnEngine(Frozen, frozen=True, kw_only=True):
    """How one engine spells the method, and the first version that runs it."""

    argument: str
    since: str
    source: str


class MethodEntry(Sourced, frozen=True, kw_only=True):
    """One speculation method.

    ``typical_acceptance`` and ``draft_shape`` stand in where a pairing has no figures of its own.
    """

    id: MethodId
    name: str
    engines: Mapping[str, MethodOnEngine]
    depth_default: int
    depth_by_family: Mapping[str, int] = {}
    depth_max: int | None = None
    lookup_min: int | None = None
    lookup_max: int | None = None
    separate_draft: bool
    parallel: bool
    automatic: bool = True
    typical_acceptance: AcceptanceFigures | None = None
    draft_shape: DraftShape | None = None
    note: str | None = None
