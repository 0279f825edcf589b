"""Kept acceptances as they are written: one that pays, and one that does not, with every field."""

import random

from msgspec.structs import replace

from speccompose.vocab.acceptance_result import (
    AcceptanceResult,
    CategoryResult,
    ComparisonResult,
    Conditions,
    DatasetResult,
    Drafting,
    Latencies,
    PeakMemory,
    Reading,
    RunResult,
    Spread,
    Subject,
)
from speccompose.vocab.tuning_result import DepthPoint, LevelPoint, TuningResult

CATEGORIES = ("coding", "math", "writing", "summarization", "roleplay")
READING = Reading(
    power_mode="MAXN",
    clocks={"cpu0": "1972 MHz", "gpu": "1173 MHz"},
    throttle_events={"gpu": 0},
    cooling=(),
    hottest_c=61.4,
)
SUBJECT = Subject(
    stack="qwen3-8b",
    plan="sha256:" + "4e" * 32,
    device="agx-thor-t5000",
    family="thor",
    engine="vllm",
    engine_version="0.27.1",
    image="vllm/vllm-openai:v0.27.1",
    image_digest="sha256:" + "0a" * 32,
    target="nvidia/Qwen3-8B-NVFP4",
    draft="RedHatAI/Qwen3-8B-speculator.eagle3",
    method="eagle3",
    depth=5,
    context_tokens=8192,
    sequences=8,
)


def spread(middle: float, draw: random.Random) -> Spread:
    """Quantiles of something that takes about ``middle`` ms, with a tail."""
    values = tuple(
        round(middle * (0.8 + 0.35 * place / 20 + (0.6 if place == 20 else 0)), 3)
        for place in range(21)
    )
    wander = 1 + draw.uniform(-0.02, 0.02)
    return Spread(count=24, mean=middle, quantiles=tuple(value * wander for value in values))


def run(arm: str, concurrency: int, repeat: int, speed: float, *, draw: random.Random) -> RunResult:
    """One repeat with everything that a board tells."""
    speculative = arm == "speculative"
    each = speed / concurrency
    return RunResult(
        arm=arm,  # type: ignore[arg-type]
        concurrency=concurrency,
        repeat=repeat,
        output_tokens_s=round(speed * (1 + draw.uniform(-0.02, 0.02)), 2),
        tpot_ms_p50=round(1000 / each, 2),
        ttft_ms_p50=round(41.0 * concurrency**0.5, 1),
        mean_accepted_length=2.61 if speculative else None,
        at="2026-11-30T10:00:00+00:00",
        window_s=64.0,
        requests=24,
        latency=Latencies(
            ttft_ms=spread(41.0 * concurrency**0.5, draw),
            tpot_ms=spread(1000 / each, draw),
            itl_ms=spread(1000 / each * (2.6 if speculative else 1), draw),
            e2e_ms=spread(256_000 / each, draw),
        ),
        drafting=Drafting(
            drafts=2350,
            draft_tokens=11750,
            accepted_tokens=3784,
            acceptance_by_position=(0.72, 0.46, 0.25, 0.12, 0.06),
        )
        if speculative
        else None,
        preemptions=0,
        memory=PeakMemory(board_mib=61_440, container_mib=None, source="MemTotal - MemAvailable"),
    )


def paying() -> AcceptanceResult:
    """Accepted: +46 % for one client, +12 % for eight."""
    draw = random.Random(7)
    speeds = {("baseline", 1): 32.6, ("speculative", 1): 47.5}
    speeds |= {("baseline", 8): 171.0, ("speculative", 8): 191.0}
    runs = tuple(
        run(arm, concurrency, repeat, speed, draw=draw)
        for (arm, concurrency), speed in speeds.items()
        for repeat in (1, 2, 3)
    )
    return AcceptanceResult(
        outcome="accepted",
        synthetic=False,
        reasons=(
            "1 client: output tokens/s +46 % (95 % interval +43 % to +49 %), wanted +30 %",
            "1 client: TPOT p50 -31 % (95 % interval -33 % to -30 %), wanted -20 %",
            "8 clients: output tokens/s +12 % (95 % interval +9 % to +15 %), no regression",
        ),
        runs=runs,
        started_at="2026-11-30T10:00:00+00:00",
        finished_at="2026-11-30T10:21:30+00:00",
        speccompose="0.1.0",
        subject=SUBJECT,
        dataset=DatasetResult(name="built-in", sha256="ab" * 32, conversations=88),
        repeats=3,
        comparisons=(
            comparison("output_tokens_s", 1, (32.6, 47.5), (1.43, 1.49), (1.30, 1.10)),
            comparison("tpot_ms_p50", 1, (30.7, 21.1), (0.67, 0.70), (0.80, None)),
            comparison("output_tokens_s", 8, (171.0, 191.0), (1.09, 1.15), (0.97, 1.00)),
        ),
        categories=tuple(
            CategoryResult(
                category=name,
                concurrency=1,
                baseline_tokens_s=32.5,
                speculative_tokens_s=52.0 - 3.5 * place,
                ratio=round((52.0 - 3.5 * place) / 32.5, 3),
                mean_accepted_length=2.9 - 0.2 * place,
            )
            for place, name in enumerate(CATEGORIES)
        ),
        conditions=Conditions(before=READING, after=replace(READING, hottest_c=66.0)),
        commands={
            "deploy": "speccompose deploy --model nvidia/Qwen3-8B-NVFP4 --method eagle3",
            "measure": "speccompose accept qwen3-8b --yes",
            "baseline_server": "vllm serve /models/target --max-model-len 8192",
        },
        artifacts="/var/lib/speccompose/stacks/qwen3-8b/acceptance/20261130T100000Z",
    )


def comparison(
    measure: str,
    concurrency: int,
    means: tuple[float, float],
    interval: tuple[float, float],
    bounds: tuple[float, float | None],
) -> ComparisonResult:
    """One measure; ``means`` and ``bounds`` are baseline and speculation, accept and reject."""
    return ComparisonResult(
        measure=measure,  # type: ignore[arg-type]
        concurrency=concurrency,
        baseline=means[0],
        speculative=means[1],
        ratio=round(means[1] / means[0], 4),
        low=interval[0],
        high=interval[1],
        accept_ratio=bounds[0],
        reject_ratio=bounds[1],
    )


def losing() -> AcceptanceResult:
    """Rejected, and by a synthetic acceptance: 0.8 of the speed."""
    whole = paying()
    speed = comparison("output_tokens_s", 1, (32.6, 26.1), (0.78, 0.82), (1.30, 1.10))
    return replace(
        whole,
        outcome="rejected",
        synthetic=True,
        reasons=("1 client: output tokens/s -20 % (95 % interval -22 % to -18 %)",),
        comparisons=(speed,),
    )


def bare() -> AcceptanceResult:
    """What another version, or a run that was cut short, may have left: the contract's fields."""
    return AcceptanceResult(
        outcome="invalid", synthetic=False, reasons=("the server died",), runs=()
    )


def tuned() -> TuningResult:
    """The seed's table: 0, 1, 2, 4 draft tokens give 36.5, 44.5, 48.5, 34.5 tokens/s."""
    speeds = {0: 36.5, 1: 44.5, 2: 48.5, 4: 34.5}
    curve = tuple(
        DepthPoint(
            depth=depth,
            measured=True,
            predicted_tokens_s=speed * (1.0 if depth in (0, 2) else 1.03),
            levels=(
                LevelPoint(
                    concurrency=1,
                    output_tokens_s=speed,
                    tpot_ms_p50=1000 / speed,
                    ttft_ms_p50=40.0,
                    e2e_ms_p50=None,
                    mean_accepted_length=None,
                ),
            ),
        )
        for depth, speed in speeds.items()
    )
    return TuningResult(
        outcome="chosen",
        synthetic=False,
        depth=2,
        reasons=("depth 2 gives the most output tokens/s: 48.5",),
        curve=curve,
        method="mtp",
        subject=SUBJECT,
    )
