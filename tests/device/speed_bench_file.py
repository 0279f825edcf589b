"""A qualitative.jsonl of our own making: SPEED-Bench's form, none of its rows."""

import json
from collections.abc import Callable
from pathlib import Path

from speccompose.device.prompts import CATEGORIES

PLACEHOLDER = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
THINGS = [
    "kettle",
    "river",
    "ladder",
    "window",
    "garden",
    "engine",
    "letter",
    "market",
    "bridge",
    "winter",
]


def rows(*, per_category: int = 80, long_every: int = 5) -> list[dict]:
    """Rows as NVIDIA's script writes them; every ``long_every``-th has three turns."""
    made = []
    for kind, category in enumerate(CATEGORIES):
        for number in range(per_category):
            turns = 3 if number % long_every == 0 else 1
            thing = THINGS[(kind + number) % len(THINGS)]
            said = [f"{category} question {number}.{turn} about a {thing}" for turn in range(turns)]
            made.append(
                {
                    "question_id": f"{kind * 1000 + number:032x}",
                    "category": category,
                    "sub_category": "made",
                    "source": "made here",
                    "src_id": f"made_{number}",
                    "difficulty": "",
                    "multiturn": turns > 1,
                    "messages": [{"role": "user", "content": text} for text in said],
                }
            )
    return made


def write_speed_bench(
    folder: Path, change: Callable[[list[dict]], object] = lambda rows: None, **form: int
) -> Path:
    """Write such a file, after ``change`` has had its way with the rows."""
    made = rows(**form)
    change(made)
    path = folder / "qualitative.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path
