"""Built-in conversations that ask for something made: code, prose, a part to play, a summary.

Layer: device (standard library, Python 3.8). Pure data in our own words; prompts.py puts the
categories together. One entry is one conversation, its turns in order.
"""

from __future__ import annotations

from typing import Tuple

Turns = Tuple[str, ...]

CODING: Tuple[Turns, ...] = (
    (
        "Write a Python function that takes a list of (start, end) intervals and returns them "
        "merged and sorted. Add type hints, a docstring and three assertions.",
    ),
    (
        "Here is a shell line: find . -name '*.log' -mtime +7 -exec rm {} \\; Explain every part, "
        "name two ways in which it can go wrong, and write a safer version.",
    ),
    (
        "Write a SQL query that lists each customer's latest order with its total, from tables "
        "customers(id, name), orders(id, customer_id, placed_at) and lines(order_id, quantity, "
        "price). Customers without orders appear too. Explain the join you chose.",
    ),
    (
        "Implement a ring buffer for bytes in C: create, push, pop, free. Fixed size, no "
        "allocation after create, a clear answer when it is full or empty.",
    ),
    (
        "Write a JavaScript function debounce(fn, ms) and show how a search box uses it.",
        "Now add an option that runs the function at once on the first call, too.",
        "Write four tests for both forms with fake timers.",
    ),
    (
        "This Go code races: for _, u := range urls { go func() { fetch(u); count++ }() }. Name "
        "both faults, and rewrite it with a wait group and without a shared counter.",
    ),
    (
        "Write a Rust function that reads lines of the form 'name=value', ignores blank lines and "
        "comments, and returns a map or an error that names the line number.",
    ),
    (
        "Write a Python class for a least-recently-used cache with get and put in constant time, "
        "without functools.",
        "Make it safe for several threads and let entries expire after a given time.",
    ),
)

WRITING: Tuple[Turns, ...] = (
    (
        "Write a short letter from a lighthouse keeper to the engineer who will automate the "
        "lamp next month. Warm, dry humour, no farewell clichés.",
    ),
    (
        "Write the opening of a detective story that is set in a greenhouse. First person, past "
        "tense, the victim is a rare orchid.",
    ),
    (
        "Write a product text for a bicycle bell that can be heard through a car window. Eighty "
        "words, no superlatives, one surprising comparison.",
    ),
    (
        "Write an apology from a village bakery to its neighbours for a week of noise at night. "
        "Say what was repaired and what they get in return.",
    ),
    (
        "Outline a short story in which a translator notices that two letters from different "
        "countries were written by the same person.",
        "Write its first scene, in the present tense, at most two hundred words.",
        "Rewrite that scene as the letter writer would have seen it.",
    ),
    (
        "Write a poem of four stanzas about a railway bridge in fog. It need not rhyme, but every "
        "stanza ends with a sound.",
    ),
    (
        "Write a speech of one minute for the opening of a repair café, for people who have never "
        "held a soldering iron.",
    ),
    (
        "Describe a kitchen in which a large family has just finished dinner, without naming any "
        "person.",
        "Now the same kitchen, fifty years later, in the same tone.",
    ),
)

ROLEPLAY: Tuple[Turns, ...] = (
    (
        "You are the night clerk of a small hotel in the mountains. A guest comes down at three "
        "in the morning and says that somebody walks on the roof. Answer as the clerk.",
    ),
    (
        "Play a patient chess teacher. I am a beginner and have just lost my queen on move six. "
        "Help me to find out what went wrong, with one question at a time.",
    ),
    (
        "You are a museum guide who secretly believes that the famous painting is a forgery. "
        "Present it to a group of visitors without saying so.",
    ),
    (
        "Be the ship's cook on a research vessel in the ice. The chief scientist complains that "
        "there were beans again. Answer in character.",
    ),
    (
        "You are a clockmaker in 1790, and I bring you a wristwatch from my own time. React.",
        "I open the back and show you the battery. What do you make of it?",
        "I offer to leave it with you. Do you accept, and what do you ask for in return?",
    ),
    (
        "Play a customs officer who has to decide about a suitcase full of garden gnomes. I am "
        "the traveller; begin with your first question and say what you observe.",
    ),
    (
        "You are the voice of a lift that has carried the same people for thirty years. It is "
        "your last day before you are replaced. Talk to the first passenger.",
    ),
    (
        "You are the coach of a rowing team that has lost three races by less than a second. "
        "Speak to the crew before the fourth.",
        "We lost again, by the width of a hand. Speak to us in the boathouse.",
    ),
)

SUMMARIZATION: Tuple[Turns, ...] = (
    (
        "Summarise in three sentences: The council met on Tuesday about the old tram depot. "
        "Residents wanted a park, the school a gymnasium, and two firms offered to rebuild it as "
        "workshops. An engineer warned that the roof would not last another winter. After two "
        "hours the council voted for a gymnasium with a public garden on its south side, to be "
        "paid from the sale of the northern yard, and asked for drawings by May.",
    ),
    (
        "Give the three most important points of this report as a list: The new bus line carried "
        "4,100 people a day in its first month, a third more than expected. Delays came mostly "
        "from one crossing, where the signal favours cars. Drivers asked for a longer break at "
        "the northern end. The fare machines failed twice, each time after a software update. "
        "The operator wants two further buses from autumn on.",
    ),
    (
        "Write a headline and one sentence for this: Divers have found parts of a wooden crane "
        "below the harbour mud. Tree rings date it to the winter of 1431. It was driven by two "
        "treadwheels and could lift about three tons, more than historians thought possible for "
        "the town at that time. The parts will lie in fresh water for two years before they can "
        "be shown.",
    ),
    (
        "Shorten to a message of at most 160 characters: Because of the frost the water in the "
        "east wing has been shut off. Please use the kitchens in the west wing until Thursday "
        "noon, do not open the taps in the east wing, and tell the caretaker if you see water on "
        "the floor.",
    ),
    (
        "Summarise the positions: Ida wants the archive scanned at once, because the paper falls "
        "apart. Ben wants it sorted first, because unsorted scans cannot be found. Tove would "
        "scan only what readers ask for, and so learn what matters.",
        "Which plan costs least in the first year, and which in the tenth? Two sentences.",
        "Put the whole exchange into one recommendation for the board.",
    ),
    (
        "Turn these minutes into a list of tasks with names: Pavel reported that the pump is "
        "repaired but not tested. Ruth offered to test it on Friday if somebody fetches the "
        "gauge. Omar has the gauge. The permit ends on the 30th; Lena writes to the office. "
        "Nobody has told the neighbours about the noise yet, and Pavel said he would.",
    ),
    (
        "Say in plain words what changed: The tariff's base price falls from 11.90 to 9.40 a "
        "month, the price per kilowatt hour rises from 29.1 to 33.6 cents, and the notice period "
        "becomes one month in place of three. For whom is this cheaper?",
    ),
    (
        "Summarise for a child of nine: Bees find their way with the sun even when clouds hide "
        "it, because they see how the light of the sky is polarised. In the hive they dance, and "
        "the dance tells the others the direction and how far to fly.",
        "Now the same for a physicist, in two sentences.",
    ),
)
