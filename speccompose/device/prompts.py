"""Built-in prompts: our own words, so that every board can measure itself without a download.

Layer: device (standard library, Python 3.8). Pure. Two per category of SPEED-Bench (its rows are
not ours to ship), in an order that any first part is a mix. Every measured request gets a mark of
its own in front, so that a cache of prefixes has nothing to offer; both arms get the same ones.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple, Tuple


class Prompt(NamedTuple):
    """One built-in prompt."""

    category: str
    text: str


PROMPTS: Tuple[Prompt, ...] = (
    Prompt(
        "coding",
        "Write a Python function that takes a list of (start, end) intervals and returns them "
        "merged and sorted. Add type hints, a docstring and three assertions.",
    ),
    Prompt(
        "writing",
        "Write a short letter from a lighthouse keeper to the engineer who will automate the "
        "lamp next month. Warm, dry humour, no farewell clichés.",
    ),
    Prompt(
        "qa",
        "Why does the sea near a beach sometimes pull swimmers outwards although the waves roll "
        "in, and what should a swimmer do who is caught in such a current?",
    ),
    Prompt(
        "math",
        "A tank is filled by one pipe in 6 hours and by a second one in 9 hours; a drain empties "
        "it in 18 hours. All three are open. How long until the tank is full? Show each step.",
    ),
    Prompt(
        "summarization",
        "Summarise in three sentences: The council met on Tuesday about the old tram depot. "
        "Residents wanted a park, the school a gymnasium, and two firms offered to rebuild it as "
        "workshops. An engineer warned that the roof would not last another winter. After two "
        "hours the council voted for a gymnasium with a public garden on its south side, to be "
        "paid from the sale of the northern yard, and asked for drawings by May.",
    ),
    Prompt(
        "roleplay",
        "You are the night clerk of a small hotel in the mountains. A guest comes down at three "
        "in the morning and says that somebody walks on the roof. Answer as the clerk.",
    ),
    Prompt(
        "reasoning",
        "Four friends sit in a row. Ana is not at an end. Bo sits left of Cem but not next to "
        "him. Dora sits next to Ana. In which orders can they sit? Explain how you exclude the "
        "others.",
    ),
    Prompt(
        "rag",
        "Use only this note. Note: 'Pump P2 must be bled after every filter change. Bleeding "
        "takes four minutes with the valve V7 open. Never run P2 dry for more than ten seconds. "
        "Filters are changed each 250 hours.' Question: the filter of P2 was changed; what has "
        "to happen before it runs, and how long does it take?",
    ),
    Prompt(
        "humanities",
        "Explain to a curious sixteen-year-old how the printing press changed who could take "
        "part in public argument, with two examples and one counter-example.",
    ),
    Prompt(
        "stem",
        "Describe how a lithium-ion cell stores and gives back energy, what happens at each "
        "electrode, and why charging it below freezing does harm.",
    ),
    Prompt(
        "multilingual",
        "Translate into German, French and Spanish, one per line, and keep the tone polite: "
        "'The workshop starts half an hour later than announced. Please bring your own cup.'",
    ),
    Prompt(
        "coding",
        "Here is a shell line: find . -name '*.log' -mtime +7 -exec rm {} \\; Explain every part, "
        "name two ways in which it can go wrong, and write a safer version.",
    ),
    Prompt(
        "writing",
        "Write the opening of a detective story that is set in a greenhouse. First person, past "
        "tense, the victim is a rare orchid.",
    ),
    Prompt(
        "qa",
        "What is the difference between weather and climate, and how can somebody explain with "
        "it why one cold winter proves little?",
    ),
    Prompt(
        "math",
        "Two dice are thrown. Given that the sum is at least nine, what is the probability that "
        "one of them shows a six? List the cases.",
    ),
    Prompt(
        "summarization",
        "Give the three most important points of this report as a list: The new bus line carried "
        "4,100 people a day in its first month, a third more than expected. Delays came mostly "
        "from one crossing, where the signal favours cars. Drivers asked for a longer break at "
        "the northern end. The fare machines failed twice, each time after a software update. "
        "The operator wants two further buses from autumn on.",
    ),
    Prompt(
        "roleplay",
        "Play a patient chess teacher. I am a beginner and have just lost my queen on move six. "
        "Help me to find out what went wrong, with one question at a time.",
    ),
    Prompt(
        "reasoning",
        "A shop opens either on Saturday or on Sunday each week, never both. If it rains on "
        "Saturday it opens on Sunday. Last week it was open on Saturday. What do you know about "
        "the weather, and what do you not know?",
    ),
    Prompt(
        "rag",
        "Answer from the table only. Table: Aster 14 kg, 220 W, indoor; Birch 9 kg, 150 W, "
        "indoor and outdoor; Cedar 21 kg, 400 W, outdoor. Which device suits a balcony with a "
        "160 W outlet and a shelf for 10 kg, and why do the others not?",
    ),
    Prompt(
        "humanities",
        "Compare how a myth and a scientific theory explain the seasons. What do both want to "
        "achieve, and where do they part?",
    ),
    Prompt(
        "stem",
        "Explain what a bloom filter is, why it never gives a false negative, and how its size "
        "changes the rate of false positives.",
    ),
    Prompt(
        "multilingual",
        "Erkläre auf Deutsch in einfachen Sätzen, warum Brot beim Backen aufgeht, und gib danach "
        "dieselbe Erklärung auf Italienisch.",
    ),
)


def marked_prompts(count: int, mark: str) -> Tuple[str, ...]:
    """So many prompts, each with a beginning of its own that depends on ``mark`` and its place."""
    return tuple(
        f"[{_tag(mark, place)}] {PROMPTS[place % len(PROMPTS)].text}" for place in range(count)
    )


def _tag(mark: str, place: int) -> str:
    return hashlib.sha256(f"{mark}/{place}".encode("utf-8")).hexdigest()[:10]
