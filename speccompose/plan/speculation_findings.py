"""What a person should know about a chosen pair before trusting it.

Part of stage 4. Pure. Warnings only: what forbids a pair stands in obstacles.py.
"""

from collections.abc import Iterator

from speccompose.plan.depth import DepthLimits
from speccompose.plan.pairings import Ask, Candidate
from speccompose.vocab.finding import Finding, info, warning

_QUIET_UP_TO = 2
"""Speculation usually loses above this many requests at a time (rules section 3)."""


def pair_findings(
    ask: Ask, candidate: Candidate, limits: DepthLimits, depth: int
) -> tuple[Finding, ...]:
    """Every warning about this pair at this depth and load."""
    return (
        *_load(ask),
        *_depth(candidate, limits, depth),
        *_precision(ask, candidate),
        *_free_text(candidate),
        *_unnamed_file(ask, candidate),
        *_unproved_target(ask, candidate),
    )


def _load(ask: Ask) -> Iterator[Finding]:
    if ask.request.concurrency > _QUIET_UP_TO:
        yield warning(
            "speculation_under_load",
            f"speculation usually loses at concurrency {ask.request.concurrency}",
            hint="compare both with speccompose accept",
            source="NVIDIA/skills jetson-speculative-decoding",
        )


def _depth(candidate: Candidate, limits: DepthLimits, depth: int) -> Iterator[Finding]:
    if not limits.allows(depth):
        yield warning(
            "depth_above_block",
            f"depth {depth}, but {limits.why} allows {limits.describe()}",
            hint="positions beyond the block draft nothing useful",
            source=candidate.pairing.source if candidate.pairing else None,
        )


def _precision(ask: Ask, candidate: Candidate) -> Iterator[Finding]:
    """A third party's quantisation under a draft that was trained on the BF16 target."""
    pairing = candidate.pairing
    if pairing is None or pairing.draft is None or pairing.draft_format != "bf16":
        return
    repo = ask.checkpoint.repo
    own = repo.split("/")[0] == ask.model.base_model.split("/")[0]
    if ask.checkpoint.format != "bf16" and not own and repo not in pairing.targets:
        yield warning(
            "draft_precision",
            f"{pairing.draft} was trained on BF16, {repo} is a third party's quantisation",
            hint="acceptance may be near zero: run speccompose accept",
            source="GH vllm-project/vllm#41789",
        )


def _free_text(candidate: Candidate) -> Iterator[Finding]:
    if candidate.method.id == "ngram":
        yield warning(
            "ngram_loses",
            "ngram loses on free text; it pays where the output repeats the prompt",
            source=candidate.method.source,
        )


def _unnamed_file(ask: Ask, candidate: Candidate) -> Iterator[Finding]:
    pairing = candidate.pairing
    if ask.engine.id == "llama.cpp" and candidate.draft and pairing and not pairing.draft_file:
        yield warning(
            "draft_file_unknown",
            f"no source names the file inside {candidate.draft}: pull takes its only GGUF",
            hint="name it as draft_file in an overlay",
            source=pairing.source,
        )


def _unproved_target(ask: Ask, candidate: Candidate) -> Iterator[Finding]:
    pairing = candidate.pairing
    if pairing is None or pairing.draft is None or not pairing.targets:
        return
    if ask.checkpoint.repo not in pairing.targets:
        yield info(
            "pair_by_base_model",
            f"{pairing.draft} was published for {', '.join(pairing.targets)}",
            hint=f"{ask.checkpoint.repo} is a quantisation of it",
            source=pairing.source,
        )
