"""Writes docs/findings.md anew: codes and statuses from the source, meanings as they stand there.

`python -m tests.generated_findings` after a code was added or removed; then write the meaning of
each new row (a test refuses rows without one).
"""

import re
import sys
from pathlib import Path

from tests.finding_codes import Codes

DOCS = Path(__file__).resolve().parent.parent / "docs" / "findings.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\w, ]+) \| (.+) \|$", re.MULTILINE)
UNEXPLAINED = "(say what it means)"
Table = dict[str, tuple[set[str], str]]

HEAD = """# Findings and refusals

Every code that `--json` may carry. Codes are stable; messages are for people and may change.
"""
TABLES = {
    "Findings": """
Noticed on the way. `info` explains, `warning` wants to be read, `error` stands in the way of a
deploy (`doctor`, `deploy --dry-run`) and becomes exit status 15.

| code | severity | meaning |
|---|---|---|
""",
    "Refusals": """
Nothing was changed, or what stood before is back. `plan --json` and `detect --json` print the
refusal as the last finding, with severity `error`.

| code | exit status | meaning |
|---|---|---|
""",
}


def read_table(text: str, title: str) -> Table:
    """The rows of one table: code -> kinds and meaning."""
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return {
        code: (set(kinds.split(", ")), meaning) for code, kinds, meaning in ROW.findall(section)
    }


def write_page(codes: Codes, old: str) -> str:
    """The page with every code of the source and the meanings of the old page."""
    kinds: dict[str, dict[str, list[str]]] = {
        "Findings": {code: sorted(found) for code, found in codes.findings.items()},
        "Refusals": {
            code: [str(status) for status in sorted(found)]
            for code, found in codes.refusals.items()
        },
    }
    page = HEAD
    for title, text in TABLES.items():
        meanings = read_table(old, title)
        page += f"\n## {title}\n{text}"
        for code in sorted(kinds[title]):
            meaning = meanings.get(code, (set(), UNEXPLAINED))[1]
            page += f"| `{code}` | {', '.join(kinds[title][code])} | {meaning} |\n"
    return page


def main() -> None:
    """Write the page anew."""
    page = write_page(Codes(), DOCS.read_text() if DOCS.exists() else "")
    DOCS.parent.mkdir(exist_ok=True)
    DOCS.write_text(page)
    sys.stdout.write(f"{DOCS.name} written, {page.count(UNEXPLAINED)} meanings to write\n")


if __name__ == "__main__":
    main()
