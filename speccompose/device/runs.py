"""One measured window: what the client saw and what the engine counted, as a value.

Layer: device (standard library, Python 3.8). Pure. The verdict reads these, `accept --json` and
runs.jsonl print them.
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple, Union

BASELINE = "baseline"
SPECULATIVE = "speculative"
ARMS = (BASELINE, SPECULATIVE)

RunValue = Union[str, int, float, None]


class Run(NamedTuple):
    """One repeat of one arm at one concurrency.

    ``output_tokens_s`` counts all clients together. Times are medians over requests, in
    milliseconds, None when nothing was measured. ``mean_accepted_length`` is tokens per
    verification pass; None without speculation, or where the engine does not tell.
    """

    arm: str
    concurrency: int
    repeat: int
    output_tokens_s: float
    tpot_ms_p50: Optional[float] = None
    ttft_ms_p50: Optional[float] = None
    mean_accepted_length: Optional[float] = None
    errors: Tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How messages name this run."""
        return f"{self.arm}, concurrency {self.concurrency}, repeat {self.repeat}"

    def as_dict(self) -> Dict[str, RunValue]:
        """The contract's fields of one run."""
        return {
            "arm": self.arm,
            "concurrency": self.concurrency,
            "repeat": self.repeat,
            "output_tokens_s": round(self.output_tokens_s, 3),
            "tpot_ms_p50": _rounded(self.tpot_ms_p50),
            "ttft_ms_p50": _rounded(self.ttft_ms_p50),
            "mean_accepted_length": _rounded(self.mean_accepted_length),
        }


def _rounded(value: Optional[float]) -> Optional[float]:
    return None if value is None else round(value, 3)
