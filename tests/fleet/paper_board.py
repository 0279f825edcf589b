"""Boards of paper behind a real sshd: the on-board program's answers, and nothing that serves.

The board that is meant is told by the address that ssh came to. `sudo` on these boards runs this
program in place of the installed one, so that engine, module, journal and command line are real.
What a board shall do wrong stands in its `trouble` file, one word.
"""

import json
from pathlib import Path

from tests.fleet.sshd import Sshd

SUDO = """\
#!/bin/sh
# sudo -n -- PROGRAM words...
shift 2
[ "$1" = /usr/local/lib/speccompose/check ] && shift && exec /usr/bin/python3 {program} "$@"
exec "$@"
"""

PROGRAM = """\
import json, os, sys
place = os.path.join({folder!r}, os.environ["SSH_CONNECTION"].split()[2])
path = os.path.join(place, "state")
state = json.load(open(path)) if os.path.exists(path) else {{"state": "idle"}}
trouble = os.path.join(place, "trouble")
wrong = open(trouble).read().strip() if os.path.exists(trouble) else ""
words, said = sys.argv[1:], dict(zip(sys.argv[1:], sys.argv[2:]))
with open(os.path.join(place, "log"), "a") as log:
    log.write(" ".join(words) + "\\n")
verb = words[0]
if verb == "receive":
    sys.stdin.buffer.read()
elif verb == "start" and words[1] == "rollback" and said.get("--digest") != state.get("target"):
    pass  # it takes back what it was told of, and nothing else
elif verb == "start" and words[1] == "rollback":
    state.update(state="stuck" if wrong == "stuck" else "rolled_back", reason="asked")
    if state.get("digest") == state.get("target"):
        state["digest"], state["previous"] = state.get("previous"), None
elif verb == "start":
    state.update(rollout=said["--rollout"], target=said["--digest"], reason=None)
    state["state"] = "staged" if words[1] == "stage" else "unconfirmed"
    if words[1] == "apply" and wrong in ("health", "stuck"):
        state.update(state="stuck" if wrong == "stuck" else "rolled_back", reason="health")
elif verb == "commit" and state["state"] == "unconfirmed":
    state.update(state="committed", previous=state.get("digest"), digest=state["target"])
json.dump(state, open(path, "w"))
report = {{key: value for key, value in state.items() if value is not None}}
report["healthy"] = state.get("digest") is not None
report.update(accepted_length=3.0, verdict="accepted")
if wrong == "drift":
    report["drift"] = ["compose.yaml differs"]
if wrong == "disk":
    report["unfit"] = [{{"code": "disk", "message": "12 MiB are free"}}]
print(json.dumps(report))
"""


class PaperBoards:
    """Boards 1 to ``count`` of an sshd."""

    def __init__(self, sshd: Sshd, count: int) -> None:
        self.folder = sshd.folder / "boards"
        self.folder.mkdir(exist_ok=True)
        for number in range(1, count + 1):
            self._place(number).mkdir(exist_ok=True)
            self._place(number).chmod(0o777)
        program = sshd.folder / "board.py"
        program.write_text(PROGRAM.format(folder=str(self.folder)))
        sshd.give("sudo", SUDO.format(program=program))
        self.clean()

    def clean(self) -> None:
        """Every board as new."""
        for path in self.folder.glob("*/*"):
            path.unlink()

    def trouble(self, number: int, word: str) -> None:
        """What board ``number`` does wrong from now on; '' for nothing."""
        path = self._place(number) / "trouble"
        path.write_text(word)
        path.chmod(0o644)

    def state(self, number: int) -> dict[str, object]:
        """What a board knows of itself."""
        path = self._place(number) / "state"
        return json.loads(path.read_text()) if path.exists() else {}

    def told(self, number: int) -> list[str]:
        """What a board was told, beyond being asked: receive, start, commit."""
        path = self._place(number) / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        words = [line.split() for line in lines]
        return [" ".join(w[: 2 if w[0] == "start" else 1]) for w in words if w[0] != "rollout"]

    def _place(self, number: int) -> Path:
        return self.folder / f"127.0.1.{number}"
