"""Recorded and made curves over depths, and a bench that replays one."""

import dataclasses
import itertools

from speccompose.device.depth_bench import DepthRuns
from speccompose.measure.tune_loop import Curve, Search


def positions_of(lengths):
    """Unconditional acceptance by position out of mean lengths at 1, 2, 3 ..."""
    return tuple(round(b - a, 4) for a, b in itertools.pairwise((1.0, *lengths)))


def modelled(lengths, *, base=20.0, step=0.1, any_draft=0.1, convex=0.0, levels=None):
    """Tokens/s at every depth: recorded lengths over a pass's cost."""
    costs = [1 + any_draft + step * k + convex * k * k for k in range(1, len(lengths) + 1)]
    speeds = {k: base * lengths[k - 1] / costs[k - 1] for k in range(1, len(lengths) + 1)}
    return Recorded({0: base, **speeds}, positions_of(lengths), levels or {})


@dataclasses.dataclass(frozen=True)
class Recorded:
    """``speeds``: tokens/s alone by depth. ``loaded``: the same at concurrency 8, where known."""

    speeds: dict[int, float]
    positions: tuple[float, ...] = ()
    loaded: dict[int, float] = dataclasses.field(default_factory=dict)

    @property
    def depths(self):
        return tuple(depth for depth in sorted(self.speeds) if depth)

    def runs(self, depth, noise=lambda: 1.0, repeats=3):
        """What a bench would have kept of a depth."""
        made = []
        for level, speeds in ((1, self.speeds), (8, self.loaded)):
            if depth not in speeds:
                continue
            made += [
                self._run(depth, level, number, speeds[depth] * noise())
                for number in range(1, repeats + 1)
            ]
        return DepthRuns(depth, tuple(made), folder=f"/kept/depth-{depth}")

    def _run(self, depth, level, number, speed):
        shares = self.positions[:depth]
        drafting = {
            "drafts": 100.0,
            "draft_tokens": 100.0 * depth,
            "accepted_tokens": 100.0 * sum(shares),
            "acceptance_by_position": list(shares),
        }
        return {
            "arm": "speculative" if depth else "baseline",
            "concurrency": level,
            "repeat": number,
            "output_tokens_s": speed,
            "tpot_ms_p50": 1000.0 * level / speed,
            "ttft_ms_p50": 80.0 + depth,
            "mean_accepted_length": 1.0 + sum(shares) if depth and shares else None,
            "drafting": drafting if depth and shares else None,
            "memory": {"board_mib": 9000 + 100 * depth, "container_mib": None, "source": "made"},
        }


class Replay:
    """A bench that has measured everything already; ``order`` is what it was asked for."""

    def __init__(self, recorded, *, noise=lambda: 1.0, refused=(), faulty=()):
        self.order = []
        self._recorded = recorded
        self._noise = noise
        self._refused = refused
        self._faulty = faulty

    def __call__(self, depth):
        self.order.append(depth)
        if depth in self._refused:
            return DepthRuns(depth, refused="the server ended while starting; out of memory")
        runs = self._recorded.runs(depth, self._noise)
        if depth in self._faulty:
            return runs._replace(faults=(f"depth {depth}: connection lost",))
        return runs


def replayed(recorded, search: Search, **more):
    """Search a recorded curve; returns the choice and the depths in the order they were asked."""
    bench, curve = Replay(recorded, **more), Curve(search)
    curve.fill(bench)
    return curve.choice(), bench.order


HUMANEVAL = (1.83, 2.45, 2.94, 3.26, 3.47, 3.57, 3.62)
GSM8K = (1.86, 2.56, 3.08, 3.53, 3.73, 3.91, 4.02)
CNN = (1.69, 2.12, 2.37, 2.52, 2.60, 2.63, 2.63)
"""Accepted length by depth, model card of RedHatAI's EAGLE-3 draft for Llama-4-Maverick."""

DSPARK_CODING = (1.605, 1.946, 2.132, 2.231, 2.283, 2.310, 2.324)
"""Model card of Dogacel/Qwen3-8B-DSpark, SPEED-Bench coding."""

SPARK_MTP = Recorded({0: 36.5, 1: 44.5, 2: 48.5, 4: 34.5}, (0.87, 0.74, 0.62, 0.52))
"""DGX Spark, Qwen3.5-122B-A10B, MTP: the article's table; its acceptance is told in words."""

S_01 = Recorded(
    {0: 38.0, 2: 54.9, 4: 55.6}, (0.844, 0.599, 0.385, 0.271), {0: 205.0, 2: 303.6, 4: 210.0}
)
"""GH eugr/spark-vllm-docker#343; its speeds without speculation are not told, these are made."""
