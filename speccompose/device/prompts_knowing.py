"""Built-in conversations that ask for something known or given: questions, notes, languages.

Layer: device (standard library, Python 3.8). Pure data in our own words; prompts.py puts the
categories together. One entry is one conversation, its turns in order.
"""

from __future__ import annotations

from typing import Tuple

Turns = Tuple[str, ...]

QA: Tuple[Turns, ...] = (
    (
        "Why does the sea near a beach sometimes pull swimmers outwards although the waves roll "
        "in, and what should a swimmer do who is caught in such a current?",
    ),
    (
        "What is the difference between weather and climate, and how can somebody explain with "
        "it why one cold winter proves little?",
    ),
    (
        "How does a refrigerator make things cold although it only moves heat, and why must the "
        "coils at its back be free of dust?",
    ),
    (
        "What happens between the moment somebody types an address into a browser and the moment "
        "the page shows? Keep to the six most important steps.",
    ),
    (
        "Why do leaves change their colour in autumn?",
        "Why then do some trees keep their dead leaves all winter?",
        "Do conifers do anything of the kind?",
    ),
    (
        "Which ways are there to keep bread fresh for longer, and which one makes it stale "
        "faster although many people use it?",
    ),
    (
        "What does a notary do that a lawyer does not, and for which three everyday matters does "
        "one need a notary in many countries?",
    ),
    (
        "Why do aeroplanes leave white trails on some days and none on others?",
        "Can one forecast the weather from them?",
    ),
)

RAG: Tuple[Turns, ...] = (
    (
        "Use only this note. Note: 'Pump P2 must be bled after every filter change. Bleeding "
        "takes four minutes with the valve V7 open. Never run P2 dry for more than ten seconds. "
        "Filters are changed each 250 hours.' Question: the filter of P2 was changed; what has "
        "to happen before it runs, and how long does it take?",
    ),
    (
        "Answer from the table only. Table: Aster 14 kg, 220 W, indoor; Birch 9 kg, 150 W, "
        "indoor and outdoor; Cedar 21 kg, 400 W, outdoor. Which device suits a balcony with a "
        "160 W outlet and a shelf for 10 kg, and why do the others not?",
    ),
    (
        "Context: 'The library lends books for four weeks and films for one. Both can be extended "
        "twice unless somebody else has asked for them. A fee of 20 cents a day is due for films "
        "only.' I borrowed a film and a book on the 1st and it is the 20th. What do I owe, and "
        "what can I still extend? Quote the sentence for each answer.",
    ),
    (
        "From this log only, say when the fault began and which line shows the cause: 08:01 "
        "start; 08:03 sensor A ok; 08:04 sensor B 41 C; 08:09 sensor B 58 C; 08:10 fan 2 stopped; "
        "08:12 sensor B 71 C; 08:12 shutdown requested; 08:13 sensor A lost.",
    ),
    (
        "Keep to this text: 'Members may bring two guests. Guests pay at weekends. Children under "
        "twelve count as half a guest. The sauna is for members and adult guests.' I am a member "
        "and come on Sunday with my sister and her two children of nine. May we all enter?",
        "Who of us may use the sauna, and who pays?",
        "Which of these answers does the text not really settle?",
    ),
    (
        "Two notes disagree. Note 1 (March): 'Valve V3 opens at 4 bar.' Note 2 (June): 'After the "
        "overhaul V3 is set to 3.5 bar; V4 is unchanged at 5.' At which pressures do V3 and V4 "
        "open in July? Say which note you used and why.",
    ),
    (
        "Passage: 'Rye was sown on the upper fields, oats on the lower ones. In wet years the "
        "lower fields failed. The mill took one sack in sixteen.' A farm brought 48 sacks in a "
        "wet year. What was probably in them, and how many did it take home?",
    ),
    (
        "Price list: entry 6, reduced 4, family (two adults, up to three children) 14, guided "
        "tour 2 each, children on tours free. Two adults and two children want a tour. What is "
        "the cheapest way, and what does it cost?",
        "A grandmother with a reduced ticket joins them. What changes?",
    ),
)

MULTILINGUAL: Tuple[Turns, ...] = (
    (
        "Translate into German, French and Spanish, one per line, and keep the tone polite: "
        "'The workshop starts half an hour later than announced. Please bring your own cup.'",
    ),
    (
        "Erkläre auf Deutsch in einfachen Sätzen, warum Brot beim Backen aufgeht, und gib danach "
        "dieselbe Erklärung auf Italienisch.",
    ),
    (
        "Explique en français, en cinq phrases, comment lire une carte météorologique, puis "
        "traduis la dernière phrase en portugais.",
    ),
    ("用中文写一段话，介绍一种你熟悉的水果：它的样子、味道和季节。然后把这段话翻译成英文。",),
    (
        "Escribe en español un diálogo corto entre un cliente y una florista.",
        "Ahora tradúcelo al alemán y conserva el tratamiento de usted.",
        "¿Qué palabras fueron difíciles de traducir y por qué?",
    ),
    ("日本語で、雨の日に家でできることを三つ書いて、それぞれ理由を一文で説明してください。",),
    (
        "Напиши по-русски короткую записку соседу: в субботу будет шумно, потому что мы "
        "переставляем мебель. Затем переведи её на польский.",
    ),
    (
        "Scrivi in italiano le istruzioni per preparare un tè freddo, in quattro passi.",
        "Ora le stesse istruzioni in olandese, per un bambino.",
    ),
)
