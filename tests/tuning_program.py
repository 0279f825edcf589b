"""`python -m tests.tuning_program FOLDER`: a search on a made machine, to be killed at any moment.

Containers outlive this program as they outlive ours: they are written down, and whoever comes next
finds them running. Prints the result as JSON.
"""

import itertools
import json
import os
import sys
from pathlib import Path

import msgspec

from speccompose.catalog.load import load_catalog
from speccompose.serving import deploy_request
from speccompose.tuning import tune_here
from speccompose.tuning_session import Wanted
from tests.serving_board import ROOT, made_board
from tests.tuning_board import VIRTUAL, AnsweringDocker, answering, depth_of
from tests.virtual_load import at

NAME = "smollm2-135m"


class LastingDocker(AnsweringDocker):
    """Keeps its containers in a file; a running one answers again for the next program."""

    file: Path

    def load(self, file: Path) -> None:
        self.file = file
        self._ids = itertools.count(os.getpid() * 1000)  # none that an earlier program gave
        if not file.exists():
            return
        self.containers = json.loads(file.read_text())
        for body in self.containers.values():
            self.serve(depth_of(body["Config"]["Cmd"]), body["Config"]["Cmd"])

    def serve(self, depth, command):
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.containers))
        new.replace(self.file)
        super().serve(depth, command)


def main(folder: Path, port: int) -> None:
    board = answering(made_board(folder, load_catalog(ROOT, (), None), ROOT), LastingDocker)
    board.docker.load(folder / "containers.json")
    if not (board.state / "stacks" / NAME / "current").exists():
        deploy_request(board.request(port=port, method="draft_model"), board.board(), board.here)
    sys.stdout.write("deployed\n")
    sys.stdout.flush()
    wanted = Wanted(quick=True, other=at(VIRTUAL), exhaustive=True, depths=(1, 2, 4))
    done = tune_here(NAME, board.here, wanted)
    sys.stdout.write(msgspec.json.encode(done.result).decode() + "\n")
    board.docker.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
