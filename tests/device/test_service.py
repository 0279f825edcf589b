"""systemd agrees with state.json: up, down or gone, twice the same, and never at a stack's cost."""

import pytest

from speccompose.device import state
from speccompose.device.lock import hold
from speccompose.device.ports import NoUnits
from speccompose.device.program import program_version
from speccompose.device.service import (
    align_service,
    install_service,
    keep_down,
    mend_service,
    remove_service,
    stack_unit,
    unmanaged,
)
from speccompose.device.units import RECOVER, WATCH_TIMER
from tests.device.serviced import Serviced, serviced

UNIT = stack_unit("tiny")


@pytest.fixture
def here(board) -> Serviced:
    return serviced(board)


def install(here: Serviced, digest: str) -> tuple[str, ...]:
    return install_service(here.board.paths, digest, here.board.ports)


def align(here: Serviced, *, start: bool = True) -> tuple[str, ...]:
    return align_service(here.board.paths, here.board.ports, start=start)


def written(here: Serviced) -> dict[str, int]:
    """Every file of units and program, with when it was written."""
    roots = (here.systemd.folder, here.program.parent)
    files = [path for root in roots if root.is_dir() for path in root.iterdir()]
    return {str(path): path.stat().st_mtime_ns for path in files}


def test_before_the_switch_recover_is_there_and_the_stack_is_not_yet_enabled(here):
    assert install(here, here.committed()) == ()
    assert here.systemd.enabled == {RECOVER, WATCH_TIMER}
    assert here.systemd.active == {WATCH_TIMER}
    assert (here.systemd.folder / UNIT).exists()
    assert program_version(here.program) == "0.2.0"


def test_what_serves_starts_at_boot_and_a_second_time_nothing_is_written(here):
    install(here, here.committed())
    assert align(here) == ()
    assert UNIT in here.systemd.enabled
    assert UNIT in here.systemd.active
    before, calls = written(here), len(here.systemd.calls)
    digest = state.linked_digest(here.board.paths.current)
    assert install(here, str(digest)) == align(here) == ()
    assert written(here) == before
    asked = {words[1] for words in here.systemd.calls[calls:]}
    assert asked <= {"show", "is-enabled"}


def mend(here: Serviced) -> tuple[str, ...]:
    digest = str(state.linked_digest(here.board.paths.current))
    return mend_service(here.board.paths, digest, here.board.ports)


def test_what_serves_gets_back_what_it_lacks_and_else_nothing_is_touched(here):
    """Units that somebody removed, or a board whose stacks are older than its units."""
    here.committed()
    assert mend(here) == ()
    assert here.systemd.enabled == {RECOVER, WATCH_TIMER, UNIT}
    before = written(here)
    assert mend(here) == ()
    assert written(here) == before
    (here.systemd.folder / RECOVER).unlink()
    mend(here)
    assert (here.systemd.folder / RECOVER).exists()


def test_who_changes_the_stack_right_now_sees_to_its_units(here):
    here.committed()
    with hold(here.board.paths, "deploy"):
        assert mend(here) == ()
    assert not here.systemd.folder.exists()
    here.board.ports = here.board.ports._replace(units=NoUnits())
    assert mend(here) == ()


def test_another_release_brings_its_own_unit(here):
    here.committed()
    align(here)
    here.committed(deadline_s=77)
    align(here)
    assert b"77" in (here.systemd.folder / UNIT).read_bytes()


@pytest.mark.parametrize("phase", [state.STOPPED, state.FAILED, state.DEGRADED])
def test_a_stopped_stack_stays_stopped_after_a_boot(here, phase):
    here.committed()
    align(here)
    here.committed(phase)
    assert align(here) == ()
    assert UNIT not in here.systemd.enabled | here.systemd.active
    calls = len(here.systemd.calls)
    align(here)
    assert {words[1] for words in here.systemd.calls[calls:]} <= {
        "show", "is-enabled", "reset-failed"
    }  # fmt: skip


def test_what_was_stopped_and_is_deployed_again_starts_at_boot_again(here):
    here.committed(state.STOPPED)
    align(here)
    here.committed(state.ROLLED_BACK)
    align(here)
    assert UNIT in here.systemd.enabled & here.systemd.active


def test_recover_starts_nothing_that_waits_for_it(here):
    here.committed()
    align(here, start=False)
    assert UNIT in here.systemd.enabled
    assert UNIT not in here.systemd.active


@pytest.mark.parametrize("phase", [*state.OPEN, state.STUCK])
def test_an_open_transaction_is_left_to_itself(here, phase):
    digest = here.committed()
    before = state.Before(digest, None, True)
    state.save(here.board.paths, state.Record(phase, digest=digest, before=before))
    assert align(here) == ()
    assert here.systemd.enabled == here.systemd.active == set()


def test_the_last_stack_takes_the_boards_units_with_it(here):
    install(here, here.committed())
    align(here)
    assert remove_service(here.board.paths, here.board.ports) == ()
    assert list(here.systemd.folder.iterdir()) == []
    assert here.systemd.enabled == here.systemd.active == set()
    assert here.program.exists()


def test_a_stack_that_stays_keeps_the_boards_units(here):
    install(here, here.committed())
    (here.board.roots.stacks / "other" / "releases").mkdir(parents=True)
    remove_service(here.board.paths, here.board.ports)
    assert not (here.systemd.folder / UNIT).exists()
    assert {RECOVER, WATCH_TIMER} == here.systemd.enabled


def test_a_first_install_that_was_undone_leaves_no_unit(here):
    install(here, here.committed())
    paths = here.board.paths
    state.point(paths.current, None)
    state.save(paths, state.Record(state.ROLLED_BACK))
    (paths.home / "releases").rename(paths.home / "gone")
    align(here)
    assert list(here.systemd.folder.iterdir()) == []


def test_without_systemd_it_says_so_and_does_nothing(here):
    digest = here.committed()
    here.board.ports = here.board.ports._replace(units=NoUnits())
    (notice,) = install(here, digest)
    assert "no stack starts at boot" in notice
    assert align(here) == remove_service(here.board.paths, here.board.ports) == ()
    assert not here.program.exists()


def test_a_tree_that_does_not_outlive_a_boot_gets_no_unit(here):
    from speccompose.device.systemd_cli import Places, Systemd

    places = Places(here.systemd.folder, here.systemd.folder.parent)
    units = Systemd(here.systemd, places, lambda: True)
    here.board.ports = here.board.ports._replace(units=units)
    assert "does not outlive a boot" in install(here, here.committed())[0]
    assert not here.systemd.folder.exists()


def test_the_units_of_another_tree_are_not_taken_over_while_it_has_stacks(here, tmp_path):
    install(here, here.committed())
    moved = here.board.roots._replace(state=tmp_path / "moved")
    assert f"stacks in {here.board.roots.state}" in str(unmanaged(moved, here.board.ports))
    (here.board.roots.stacks / "tiny" / "releases").rename(tmp_path / "gone")
    assert unmanaged(moved, here.board.ports) is None


def test_a_release_for_another_tree_or_without_a_unit_says_that_it_does_not_start(here):
    folder = here.folder()
    unit = folder / "tiny.service"
    unit.write_text(unit.read_text().replace(str(here.board.roots.state), "/var/lib/speccompose"))
    from speccompose.device.stack_folder import read_stack, stage
    from tests.device.serviced import add_sums

    add_sums(folder)
    stack = read_stack(folder)
    stage(stack, here.board.paths)
    assert "does not start at boot" in install(here, stack.plan.digest)[-1]
    assert not (here.systemd.folder / UNIT).exists()


def test_a_state_tree_that_is_a_link_to_another_disk_is_one_tree(here, tmp_path):
    """On a Jetson it usually is: the unit names the link, the program the disk."""
    digest = here.committed()
    link = tmp_path / "link"
    link.symlink_to(here.board.roots.state)
    through = here.board.paths._replace(roots=here.board.roots._replace(state=link))
    assert install_service(through, digest, here.board.ports) == ()
    assert align_service(through, here.board.ports) == ()
    before = written(here)
    assert install(here, digest) == align(here) == ()
    assert written(here) == before
    assert UNIT in here.systemd.enabled


def test_an_older_program_does_not_replace_a_newer_one(here):
    install(here, here.committed(version="0.10.0"))
    (notice,) = install(here, here.committed(version="0.9.0", deadline_s=78))
    assert "is newer (0.10.0) and stays" in notice
    assert program_version(here.program) == "0.10.0"


def test_a_unit_that_does_not_start_is_a_notice_and_no_failure(here):
    here.committed()
    here.systemd.on_start = lambda name: name != UNIT
    (notice,) = align(here)
    assert "Job for speccompose@tiny.service failed" in notice
    assert UNIT in here.systemd.enabled
    here.systemd.on_start = lambda name: True
    assert align(here) == ()
    assert UNIT in here.systemd.active


def test_units_that_cannot_be_written_are_a_notice(here):
    here.systemd.folder.write_text("no folder")
    (notice,) = install(here, here.committed())
    assert notice.startswith("its service is not installed: cannot write the unit")


def test_what_docker_started_though_it_was_stopped_is_stopped_again(here):
    digest = here.committed(state.STOPPED)
    paths, ports, docker = here.board.paths, here.board.ports, here.board.docker
    assert keep_down(paths, ports) is None
    from speccompose.device.compose_cli import Compose

    Compose(ports.docker, "speccompose-tiny", paths.release(digest)).up()
    assert keep_down(paths, ports) == "docker had started tiny again; it is stopped (stopped)"
    assert docker.containers["speccompose-tiny"]["State"]["Status"] == "exited"
    assert keep_down(paths, ports) is None
    here.committed(state.COMMITTED)
    Compose(ports.docker, "speccompose-tiny", paths.release(digest)).up()
    assert keep_down(paths, ports) is None
