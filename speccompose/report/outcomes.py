"""The outcomes of an acceptance in words, and how a page colours them.

Layer: report. Pure. Rules section 6 decides them; here they are only said.
"""

MEANING = {
    "accepted": "speculation pays here; it stays on",
    "marginal": "speculation pays a little; it stays on, flagged",
    "rejected": "speculation does not pay here",
    "inconclusive": "the numbers do not decide; nothing was changed",
    "invalid": "the measurement does not count; nothing was changed",
}

TONE = {
    "accepted": "good",
    "marginal": "warn",
    "rejected": "bad",
    "inconclusive": "warn",
    "invalid": "bad",
}
"""CSS classes of the page's badge."""
