"""Built-in conversations that ask for something worked out: sums, puzzles, nature, culture.

Layer: device (standard library, Python 3.8). Pure data in our own words; prompts.py puts the
categories together. One entry is one conversation, its turns in order.
"""

from __future__ import annotations

from typing import Tuple

Turns = Tuple[str, ...]

MATH: Tuple[Turns, ...] = (
    (
        "A tank is filled by one pipe in 6 hours and by a second one in 9 hours; a drain empties "
        "it in 18 hours. All three are open. How long until the tank is full? Show each step.",
    ),
    (
        "Two dice are thrown. Given that the sum is at least nine, what is the probability that "
        "one of them shows a six? List the cases.",
    ),
    (
        "A rectangle has a perimeter of 46 cm and a diagonal of 17 cm. Find its sides and its "
        "area, and check the result.",
    ),
    (
        "Prove that the sum of three consecutive cubes is always divisible by nine. Begin with "
        "the middle number.",
    ),
    (
        "A loan of 12,000 is paid back in equal monthly amounts over three years at 6 % a year, "
        "interest charged monthly. How large is the amount? Show the formula first.",
        "After one year 2,000 are paid extra. How many months does the loan then take?",
        "How much interest does the extra payment save in total?",
    ),
    (
        "How many whole numbers from 1 to 1000 are divisible by neither 4 nor 6? Explain which "
        "ones would be counted twice.",
    ),
    (
        "A ladder of 6.5 m leans on a wall with its foot 2.5 m away. The foot slips outwards by "
        "0.8 m. How far does the top come down?",
    ),
    (
        "Differentiate f(x) = x^2 * ln(x) and find its smallest value for x > 0.",
        "Sketch the curve in words: where it falls, where it rises, where it bends.",
    ),
)

REASONING: Tuple[Turns, ...] = (
    (
        "Four friends sit in a row. Ana is not at an end. Bo sits left of Cem but not next to "
        "him. Dora sits next to Ana. In which orders can they sit? Explain how you exclude the "
        "others.",
    ),
    (
        "A shop opens either on Saturday or on Sunday each week, never both. If it rains on "
        "Saturday it opens on Sunday. Last week it was open on Saturday. What do you know about "
        "the weather, and what do you not know?",
    ),
    (
        "Three boxes are labelled 'nails', 'screws' and 'nails and screws'. Every label is wrong. "
        "You may take one piece out of one box. Which box do you choose, and how does one piece "
        "settle all three?",
    ),
    (
        "A town has two barbers. One has a tidy shop and a neat haircut, the other a messy shop "
        "and a bad haircut. Each cuts the other's hair. To whom do you go, and which assumption "
        "does your answer rest on?",
    ),
    (
        "A machine fails every Tuesday afternoon. List five causes that would fit, each with one "
        "observation that would rule it out.",
        "It did not fail last Tuesday, which was a holiday. Which causes are left?",
        "Today is Wednesday and it failed. Revise your list once more.",
    ),
    (
        "All parcels from the north arrive by train. Some parcels that arrive by train are late. "
        "Does it follow that some parcels from the north are late? Give a picture or a "
        "counter-example.",
    ),
    (
        "You have a four-litre jug and a nine-litre jug and a tap. Measure exactly six litres. "
        "Write the steps as pairs of amounts.",
    ),
    (
        "Two witnesses disagree: one saw a red van at noon, the other a brown car at half past "
        "twelve. Name three ways in which both can be right.",
        "A camera shows no vehicle at all between noon and one. What now?",
    ),
)

STEM: Tuple[Turns, ...] = (
    (
        "Describe how a lithium-ion cell stores and gives back energy, what happens at each "
        "electrode, and why charging it below freezing does harm.",
    ),
    (
        "Explain what a bloom filter is, why it never gives a false negative, and how its size "
        "changes the rate of false positives.",
    ),
    (
        "Why does a bicycle stay upright more easily at speed? Separate what is known from what "
        "is a popular mistake.",
    ),
    (
        "Explain how a vaccine made of messenger RNA leads to antibodies, step by step, and why "
        "the RNA itself is gone after some days.",
    ),
    (
        "What limits the resolution of a light microscope? Give the formula and an example.",
        "How do methods with blinking dyes get below that limit?",
        "What do they cost in time and in light on the sample?",
    ),
    (
        "A beam of steel, 4 m long and supported at both ends, carries a load in its middle. How "
        "do depth and width of its section change the deflection, and why is an I-beam a good "
        "shape?",
    ),
    (
        "Explain with an example why a database that is replicated over two sites cannot be both "
        "always available and always consistent when the link between them is cut.",
    ),
    (
        "Why is the sky blue and the evening sky red? Use the wavelength, not colours of dust.",
        "What colour would the sky of a planet with a much thicker atmosphere have at noon?",
    ),
)

HUMANITIES: Tuple[Turns, ...] = (
    (
        "Explain to a curious sixteen-year-old how the printing press changed who could take "
        "part in public argument, with two examples and one counter-example.",
    ),
    (
        "Compare how a myth and a scientific theory explain the seasons. What do both want to "
        "achieve, and where do they part?",
    ),
    (
        "What made the Silk Road more than a road for silk? Name three things that travelled on "
        "it and weighed nothing.",
    ),
    (
        "Explain the difference between a right and a privilege, and discuss on which side a "
        "driving licence stands.",
    ),
    (
        "Why did medieval towns build walls, and why did most of them tear these down later?",
        "Name one town that kept its wall and what it gained or lost by that.",
        "What would be today's equivalent of a town wall? Argue for one answer.",
    ),
    (
        "A philosopher says that we can never step into the same river twice. What is the claim, "
        "what is a good objection, and what is left of it after the objection?",
    ),
    (
        "Describe how the introduction of the potato changed eating, farming and population in "
        "northern Europe, and what the great famine in Ireland shows about relying on one crop.",
    ),
    (
        "What can a historian learn from a household's account book that a chronicle would not "
        "say? Give four examples.",
        "And what would the account book hide?",
    ),
)
