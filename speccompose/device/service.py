"""A stack's state becomes what systemd does with it: started at boot, or kept down.

Layer: device (standard library, Python 3.8).

    install_service(paths, digest, ports)   before the switch: recover must come before the stacks
    enable_service(paths, digest, ...)      a first install, before the commit: it survives a boot
    align_service(paths, ports)             after anything that changed state.json: systemd agrees
    mend_service(paths, digest, ports)      both, for what serves already
    remove_service(paths, ports)            nothing of the stack is left

Each can be called again without changing anything. Where there is no systemd, or the state tree is
not this board's, they say so in a notice and everything else works as it does. systemd's faults
are notices too: a stack that serves is not taken down because it may not come back after a boot.
"""

from __future__ import annotations

from pathlib import Path
from typing import List, Optional, Tuple

from speccompose.device import state
from speccompose.device.compose_cli import Compose
from speccompose.device.errors import DeviceError
from speccompose.device.lock import holder
from speccompose.device.paths import Roots, StackPaths, known_stacks
from speccompose.device.ports import Ports
from speccompose.device.program import install_program
from speccompose.device.release import claimed_plan
from speccompose.device.small_file import read_small
from speccompose.device.units import RECOVER, WATCH, WATCH_TIMER, board_units, served_state
from speccompose.device.units import stack_unit as stack_unit

KEPT_DOWN = (state.STOPPED, state.FAILED, state.DEGRADED)
"""A person, a failed start or the watch has stopped it: it does not start at boot."""

STOP_S = 120.0
_START_SLACK_S = 120.0


def unmanaged(roots: Roots, ports: Ports) -> Optional[str]:
    """Why no unit is installed for this state tree; None when units are."""
    if not ports.units.available():
        return "systemd does not run here or takes no orders from us: no stack starts at boot"
    if not ports.units.outlives_boot(roots.state):
        return f"{roots.state} does not outlive a boot: no unit starts the stacks in it"
    other = served_state(ports.units.installed(RECOVER))
    if other is None or _same(Path(other), roots.state):
        return None
    if known_stacks(Roots(Path(other))):
        return f"the units of this board serve the stacks in {other}: none starts those here"
    return None


def install_service(paths: StackPaths, digest: str, ports: Ports) -> Tuple[str, ...]:
    """Install what a boot in the middle of the switch needs; returns notices.

    The board's program, recover and watch, and the stack's unit; that one is only enabled once
    the release has proved itself (``align_service``).
    """
    reason = unmanaged(paths.roots, ports)
    if reason is not None:
        return (reason,)
    notices: List[str] = []
    release, program = paths.release(digest), ports.units.program
    try:
        done = install_program(release / "check", program)
        if done.kept_newer:
            newer = f"the program at {program} is newer ({done.before}) and stays"
            notices.append(newer)
        unit = _unit_of(paths, digest)
        ours = {} if unit is None else {stack_unit(paths.name): unit}
        ports.units.install({**board_units(_whole(paths.roots), program), **ours})
        ports.units.enable(RECOVER)
        ports.units.enable(WATCH_TIMER)
        if ports.units.unit_state(WATCH_TIMER) != "active":
            ports.units.start(WATCH_TIMER, STOP_S)
        if unit is None:
            notices.append(_no_unit(paths))
    except DeviceError as error:
        notices.append(_told("its service is not installed", error))
    return tuple(notices)


def enable_service(
    paths: StackPaths, digest: str, before: Optional[state.Before], ports: Ports
) -> Tuple[str, ...]:
    """Let a first install's unit start at boot, right before the commit; returns notices.

    After a power cut between the commit and ``align_service`` nothing else would start it:
    recover runs when systemd has chosen already what to start. One between this and the commit
    leaves nothing, and no unit. Of what was there before, the unit is enabled already, or was
    stopped: enabled early, that one could start although recover takes the switch back.
    """
    if before is None or before.current is not None:
        return ()
    if unmanaged(paths.roots, ports) is not None:
        return ()
    try:
        if _unit_of(paths, digest) is not None:
            ports.units.enable(stack_unit(paths.name))
    except DeviceError as error:
        return (_told("its unit is not enabled", error),)
    return ()


def align_service(paths: StackPaths, ports: Ports, *, start: bool = True) -> Tuple[str, ...]:
    """Let systemd agree with state.json; returns notices.

    What serves starts at boot, and its unit counts as started; what was stopped does not. A
    transaction that is open is left to itself. Without ``start`` nothing is started: for recover,
    which units that start at boot wait for.
    """
    if unmanaged(paths.roots, ports) is not None:
        return ()
    record = state.load(paths)
    digest = state.linked_digest(paths.current)
    try:
        if record.is_open or record.phase == state.STUCK:
            return ()
        if digest is None:
            return remove_service(paths, ports)
        if record.phase in KEPT_DOWN:
            return _down(paths, ports)
        return _up(paths, digest, ports, start=start)
    except DeviceError as error:
        return (_told("systemd does not agree", error),)


def mend_service(paths: StackPaths, digest: str, ports: Ports) -> Tuple[str, ...]:
    """Both of it for a stack that serves already: what is missing is put there, else nothing.

    Left to whoever changes the stack right now; returns notices.
    """
    if unmanaged(paths.roots, ports) is not None or holder(paths) is not None:
        return ()
    return (*install_service(paths, digest, ports), *align_service(paths, ports))


def remove_service(paths: StackPaths, ports: Ports) -> Tuple[str, ...]:
    """Take the stack's unit away, and the board's own with the last stack; returns notices.

    The program stays: it is one file, and a fleet's helper may be it.
    """
    if unmanaged(paths.roots, ports) is not None:
        return ()
    unit = stack_unit(paths.name)
    try:
        if ports.units.installed(unit) is not None:
            ports.units.stop(unit, STOP_S)
            ports.units.uninstall((unit,))
            ports.units.reset_failed(unit)
        if [name for name in known_stacks(paths.roots) if name != paths.name]:
            return ()
        if ports.units.installed(WATCH_TIMER) is not None:
            ports.units.stop(WATCH_TIMER, STOP_S)
        ports.units.uninstall((WATCH_TIMER, WATCH, RECOVER))
    except DeviceError as error:
        return (_told("its units are not removed", error),)
    return ()


def keep_down(paths: StackPaths, ports: Ports) -> Optional[str]:
    """Stop what docker started by itself at boot though it had been stopped; says so if it did.

    Docker remembers no manual stop for a container with `restart: on-failure`.

    Raises:
        DeviceError: docker does not answer, or does not stop it.
    """
    record, digest = state.load(paths), state.linked_digest(paths.current)
    if record.phase not in KEPT_DOWN or digest is None:
        return None
    plan = claimed_plan(paths, digest)
    project = f"speccompose-{paths.name}" if plan is None else plan.project
    found = ports.docker.container(project, "server" if plan is None else plan.service)
    if found is None or found.status not in ("running", "restarting", "paused"):
        return None
    Compose(ports.docker, project, paths.release(digest)).stop()
    return f"docker had started {paths.name} again; it is stopped ({record.phase})"


def _up(paths: StackPaths, digest: str, ports: Ports, *, start: bool) -> Tuple[str, ...]:
    name, unit = stack_unit(paths.name), _unit_of(paths, digest)
    if unit is None:
        return (_no_unit(paths),)
    ports.units.install({name: unit})
    ports.units.enable(name)
    if start and ports.units.unit_state(name) != "active":
        ports.units.reset_failed(name)
        plan = claimed_plan(paths, digest)
        deadline_s = 0 if plan is None else plan.health.start_deadline_s
        ports.units.start(name, deadline_s + _START_SLACK_S)
    return ()


def _down(paths: StackPaths, ports: Ports) -> Tuple[str, ...]:
    name = stack_unit(paths.name)
    ports.units.disable(name)
    if ports.units.unit_state(name) in ("active", "activating", "reloading"):
        ports.units.stop(name, STOP_S)
    ports.units.reset_failed(name)
    return ()


def _unit_of(paths: StackPaths, digest: str) -> Optional[bytes]:
    """The unit that a release carries; None when it has none for this state tree."""
    try:
        unit = read_small(paths.release(digest) / f"{paths.name}.service")
    except OSError:
        return None
    state_root = served_state(unit)
    return unit if state_root is not None and _same(Path(state_root), paths.roots.state) else None


def _same(one: Path, other: Path) -> bool:
    """Whether two names mean one folder: state trees are often links to a larger disk."""
    return one.resolve() == other.resolve()


def _whole(roots: Roots) -> Roots:
    """The same without links, so that it is written the same whoever deploys."""
    return Roots(roots.state.resolve(), roots.secrets.resolve())


def _no_unit(paths: StackPaths) -> str:
    return (
        f"the release carries no unit for {paths.roots.state}: it does not start at boot; "
        "render it with the same SPECCOMPOSE_STATE"
    )


def _told(brief: str, error: DeviceError) -> str:
    return "; ".join([f"{brief}: {error.brief}", *error.details])
