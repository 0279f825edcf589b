"""SPEED-Bench's qualitative split is recognised, and refused when it is not whole.

Layer: device (standard library, Python 3.8). Pure. Its rows are not ours to ship: people prepare
the file with NVIDIA's own script, which fetches most texts from other datasets. Before that, the
rows that the Hub gives hold a placeholder, and a measurement with it would ask one sentence
hundreds of times. Source: nvidia/SPEED-Bench and NVIDIA-NeMo/Skills
nemo_skills/dataset/speed-bench/prepare.py (`--config qualitative`).
"""

from __future__ import annotations

from collections import Counter
from typing import Dict, Iterable, Optional, Sequence

from speccompose.device.dataset_rows import Row
from speccompose.device.errors import DATA, DeviceError
from speccompose.device.prompts import CATEGORIES

ROWS_PER_CATEGORY = 80
_ID_CHARACTERS = 32
_PLACEHOLDER = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE"
_PREPARE = (
    "prepare it: curl -LsSf https://raw.githubusercontent.com/NVIDIA-NeMo/Skills/refs/heads/main/"
    "nemo_skills/dataset/speed-bench/prepare.py | python3 - --config qualitative --output_dir DIR"
)


def is_speed_bench(rows: Sequence[Row]) -> bool:
    """Whether any row is one of the qualitative split: its ids have 32 characters.

    MT-Bench and Spec-Bench use the same keys and some of the categories, with numbers as ids.
    """
    return any(
        "question_id" in row.keys
        and len(row.conversation.id) == _ID_CHARACTERS
        and row.conversation.category in CATEGORIES
        for row in rows
    )


def refuse_placeholders(rows: Sequence[Row], origin: str) -> None:
    """Refuse rows whose text was never fetched, alone or before more text.

    Raises:
        DeviceError: status 3, with the command that prepares the file.
    """
    lines = [
        row.line for row in rows if any(_PLACEHOLDER in turn for turn in row.conversation.turns)
    ]
    if lines:
        raise DeviceError(
            DATA,
            f"{origin}:{lines[0]} holds SPEED-Bench's placeholder in place of a prompt",
            [f"{len(lines)} of {len(rows)} rows were never fetched"],
            hint=_PREPARE,
            code="speed_bench_placeholder",
        )


def check_speed_bench(rows: Sequence[Row], origin: str) -> None:
    """Want 880 rows, 80 of each of the eleven categories.

    Raises:
        DeviceError: status 3, with what is missing.
    """
    counted = Counter(row.conversation.category for row in rows)
    faults = [
        f"{_category(category)}: {counted[category]} rows, wanted {wanted}"
        for category, wanted in _wanted(counted).items()
        if counted[category] != wanted
    ]
    if faults:
        raise DeviceError(
            DATA,
            f"{origin} is not the whole qualitative split of SPEED-Bench",
            [
                f"{len(rows)} rows, wanted {ROWS_PER_CATEGORY * len(CATEGORIES)}",
                *faults[:12],
                "its question_id and category say SPEED-Bench; rows of your own call it id",
            ],
            hint=_PREPARE + "; parts are chosen with --category and --requests",
            code="speed_bench_incomplete",
        )


def _wanted(counted: Iterable[Optional[str]]) -> Dict[Optional[str], int]:
    """Rows that each category should have, those that should not be there included."""
    wanted: Dict[Optional[str], int] = dict.fromkeys(counted, 0)
    wanted.update(dict.fromkeys(CATEGORIES, ROWS_PER_CATEGORY))
    return wanted


def _category(category: Optional[str]) -> str:
    return "no category" if category is None else category[:40]
