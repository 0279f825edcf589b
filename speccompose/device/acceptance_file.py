"""acceptance.json becomes the rules that a measurement is judged by.

Layer: device (standard library, Python 3.8). The thresholds of rules section 6 travel in the
rendered stack, so that a board judges by the numbers of the plan and not by its own.
"""

from __future__ import annotations

import json
from typing import Dict, NamedTuple, Tuple

from speccompose.device.errors import DATA, DeviceError


class Rules(NamedTuple):
    """When speculation pays. Percentages are changes against the baseline."""

    concurrency: Tuple[int, ...]
    min_repeats: int
    max_repeats: int
    output_tokens: int
    gain_accept_pct: float
    tpot_accept_pct: float
    gain_reject_pct: float
    no_regression_ratio: float
    min_accepted_length: float

    @property
    def alone(self) -> int:
        """The concurrency at which speculation must gain."""
        return min(self.concurrency)

    @property
    def loaded(self) -> int:
        """The concurrency at which it must not lose."""
        return max(self.concurrency)


class Acceptance(NamedTuple):
    """What acceptance.json says of one stack."""

    rules: Rules
    baseline_command: Tuple[str, ...]
    speculation_expected: bool
    synthetic: bool


def parse_acceptance(text: str, origin: str) -> Acceptance:
    """Read an acceptance.json.

    Raises:
        DeviceError: status 3, naming the first key that is missing or of the wrong kind.
    """
    try:
        body: object = json.loads(text)
        if not isinstance(body, dict):
            raise ValueError("wanted an object")
        rules = _rules(body)
        command = body.get("baseline_command")
        if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
            raise ValueError("baseline_command: wanted a list of texts")
        return Acceptance(
            rules=rules,
            baseline_command=tuple(command),
            speculation_expected=body.get("speculation_expected") is True,
            synthetic=body.get("synthetic") is True,
        )
    except (ValueError, OverflowError, RecursionError) as error:
        raise DeviceError(
            DATA,
            f"{origin} holds no acceptance rules",
            [str(error)],
            hint="render the stack again with the same speccompose version",
            code="bad_acceptance",
        ) from None


def _rules(body: Dict[str, object]) -> Rules:
    levels = body.get("concurrency")
    if not isinstance(levels, list) or not levels:
        raise ValueError("concurrency: wanted a list of whole numbers")
    rules = Rules(
        concurrency=tuple(_whole({"concurrency": level}, "concurrency") for level in levels),
        min_repeats=_whole(body, "min_repeats"),
        max_repeats=_whole(body, "max_repeats"),
        output_tokens=_whole(body, "output_tokens"),
        gain_accept_pct=_number(body, "gain_accept_pct"),
        tpot_accept_pct=_number(body, "tpot_accept_pct"),
        gain_reject_pct=_number(body, "gain_reject_pct"),
        no_regression_ratio=_number(body, "no_regression_ratio"),
        min_accepted_length=_number(body, "min_accepted_length"),
    )
    if not 2 <= rules.min_repeats <= rules.max_repeats:
        raise ValueError(f"min_repeats: {rules.min_repeats} is not between 2 and max_repeats")
    if not -100.0 < rules.tpot_accept_pct < 0.0:
        raise ValueError(f"tpot_accept_pct: {rules.tpot_accept_pct:g} is no reduction")
    return rules


def _whole(body: Dict[str, object], key: str) -> int:
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{key}: wanted a whole number of at least 1, found {value!r}")
    return value


def _number(body: Dict[str, object], key: str) -> float:
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{key}: wanted a number, found {value!r}")
    return float(value)
