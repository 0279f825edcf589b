"""The command line in this process: a private home, state and cache, and what was printed."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from speccompose.cli.edge import run

TESTS = Path(__file__).resolve().parent.parent
FACTS = TESTS / "facts"
THOR = ("--device", "agx-thor-t5000")
ORIN_R36 = ("--device", "agx-orin-64gb", "--l4t", "36.4.3")


@dataclass(frozen=True)
class Answer:
    """One finished command line."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@dataclass
class Terminal:
    """Runs command lines; the working folder and everything that may be written are below tmp."""

    here: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *argv: str, **environment: str) -> Answer:
        for name, value in environment.items():
            self.monkeypatch.setenv(name, value)
        self.capsys.readouterr()
        status = run(argv)
        printed = self.capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    def written(self) -> list[str]:
        """Every file below the working folder, state and secrets."""
        return sorted(str(path.relative_to(self.here)) for path in self.here.rglob("*"))

    def programs(self, *names: str) -> str:
        """A folder that holds only these programs of this machine, as a PATH."""
        folder = self.here.parent / "bin"
        folder.mkdir(exist_ok=True)
        for name in names:
            found = next(
                Path(part) / name for part in ("/bin", "/usr/bin") if (Path(part) / name).exists()
            )
            (folder / name).symlink_to(found)
        return str(folder)


def assert_refusal_shape(text: str) -> None:
    """Brief, details indented, hint last; 80 columns; no stack trace."""
    lines = text.rstrip("\n").splitlines()
    assert lines[0].startswith("error: ")
    assert all(line.startswith("  ") for line in lines[1:])
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []
    assert "Traceback" not in text
    hints = [number for number, line in enumerate(lines) if re.match(r"  hint: \S", line)]
    assert len(hints) <= 1
    after = lines[hints[0] + 1 :] if hints else []
    assert all(line.startswith("    ") for line in after)


def facts(name: str) -> tuple[str, str]:
    """--facts with a capture of tests/facts/."""
    return "--facts", str(FACTS / f"{name}.yaml")
