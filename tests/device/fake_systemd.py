"""A stand-in for systemctl and systemd-run, as FakeDocker is one for docker.

It reads the unit files it is given only as far as `[Install]`; starting runs ``on_start``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.systemd_cli import Places, Systemd


@dataclass
class FakeSystemd:
    """One init process with its unit folder. ``calls`` are the argument lists, in order."""

    folder: Path
    active: set[str] = field(default_factory=set)
    enabled: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    timers: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    reloads: int = 0
    hangs: bool = False
    race: bool = False
    calls: list[tuple[str, ...]] = field(default_factory=list)
    processes: dict[str, int] = field(default_factory=dict)
    on_start: Callable[[str], bool] = lambda name: True
    on_stop: Callable[[str], None] = lambda name: None

    def systemd(self) -> Systemd:
        """The class under test over this fake; it counts as booted."""
        folder = self.folder.parent
        places = Places(self.folder, folder, folder / "lib" / "check", ())
        return Systemd(self, places, lambda: True)

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        words = tuple(argv)
        self.calls.append(words)
        if words[0] == "systemd-run":
            return self.transient(words)
        verb, name = words[1], words[-1]
        if verb == "daemon-reload":
            self.reloads += 1
            return done(words)
        if verb == "show":
            return done(words, self.show(name))
        if verb == "is-enabled":
            on = name in self.enabled
            return Completed(words, 0 if on else 1, "enabled\n" if on else "disabled\n", "")
        if verb == "reset-failed":
            self.failed.discard(name)
            return done(words)
        if self.hangs:
            return Completed(words, TIMED_OUT, "", "timed out")
        if verb == "stop" and name.removesuffix(".timer") in self.timers:
            del self.timers[name.removesuffix(".timer")]
            return done(words)
        if not self.known(name):
            return Completed(words, 5, "", f"Unit {name} not found.")
        return self.change(words, verb, name)

    def change(self, words: tuple[str, ...], verb: str, name: str) -> Completed:
        if verb == "enable":
            self.enabled.add(name)
        elif verb == "disable":
            self.enabled.discard(name)
        elif verb == "stop":
            self.active.discard(name)
            self.on_stop(name)
        elif verb == "start" and name not in self.active:
            if not self.on_start(name):
                self.failed.add(name)
                return Completed(words, 1, "", f"Job for {name} failed.")
            self.active.add(name)
        return done(words)

    def known(self, name: str) -> bool:
        template = name.split("@")[0] + "@." + name.rsplit(".", 1)[-1] if "@" in name else name
        there = (self.folder / name).exists() or (self.folder / template).exists()
        return there or name in self.active

    def show(self, name: str) -> str:
        timer = name.removesuffix(".timer") in self.timers
        active = (
            "active" if name in self.active or (timer and name.endswith(".timer")) else "inactive"
        )
        if name in self.failed:
            active = "failed"
        known = self.known(name) or timer
        load, pid = "loaded" if known else "not-found", self.processes.get(name, 0)
        return (
            f"LoadState={load}\nActiveState={active}\nSubState=x\nResult=success\n"
            f"MainPID={pid}\nNRestarts=0\nInvocationID={pid:032x}\n"
        )

    def transient(self, words: tuple[str, ...]) -> Completed:
        unit = next(word for word in words if word.startswith("--unit=")).split("=", 1)[1]
        command = words[words.index("--") + 1 :]
        after = [word for word in words if word.startswith("--on-active=")]
        if after and f"{unit}.service" in self.active:
            reason = f"Unit {unit}.service was already loaded or has a fragment file."
            return Completed(words, 1, "", reason)
        if after:
            self.timers[unit] = (int(after[0].split("=")[1].removesuffix("s")), command)
            return done(words)
        if self.race:
            self.active.add(f"{unit}.service")
            return Completed(words, 1, "", f"Unit {unit}.service already exists.")
        self.active.add(f"{unit}.service")
        return done(words)

    def end(self, name: str) -> None:
        """What ran has ended."""
        self.active.discard(name)


def done(words: tuple[str, ...], out: str = "") -> Completed:
    return Completed(words, 0, out, "")
