"""A fake board with a fake systemd, and stack folders that carry a unit and a program."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from speccompose.device import state
from speccompose.device.stack_folder import read_stack, stage
from tests.device.conftest import FakeBoard
from tests.device.fake_systemd import FakeSystemd


@dataclass
class Serviced:
    """``program`` is where the board's own program goes."""

    board: FakeBoard
    systemd: FakeSystemd
    program: Path

    def folder(self, version: str = "0.2.0", **changes: object) -> Path:
        """A rendered folder with its unit and program."""
        folder = self.board.write(**changes)
        unit = f"[Service]\nExecStartPre=/x/check --state {self.board.roots.state} --secrets /s\n"
        name = self.board.stack.name
        (folder / f"{name}.service").write_text(unit + f"# {changes}\n")
        with zipfile.ZipFile(folder / "check", "w") as archive:
            archive.writestr("VERSION", version)
        add_sums(folder)
        return folder

    def committed(self, phase: str = state.COMMITTED, **changes: object) -> str:
        """A release that is current, with state.json in that phase; returns its digest."""
        folder = read_stack(self.folder(**changes))
        paths, digest = self.board.paths, folder.plan.digest
        stage(folder, paths)
        state.point(paths.current, digest)
        state.save(paths, state.Record(phase, digest=digest))
        return digest


def serviced(board: FakeBoard) -> Serviced:
    """The board with systemd."""
    systemd = FakeSystemd(board.scratch / "units")
    board.ports = board.ports._replace(units=systemd.systemd())
    return Serviced(board, systemd, board.scratch / "lib" / "check")


def add_sums(folder: Path) -> None:
    """SHA256SUMS over everything that is in the folder."""
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(lines))
