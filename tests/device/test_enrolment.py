"""What a fleet needs on a board: shown, given once, taken back; sudo allows no more."""

import pwd
import stat

import pytest

from speccompose.device.command import NOT_FOUND, Completed
from speccompose.device.enrolment import VERBS, Places, enroll, sudo_rule, unenroll
from speccompose.device.errors import DeviceError
from speccompose.device.paths import Roots
from speccompose.world.program import onboard_program

ME = pwd.getpwuid(0).pw_name


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "lib" / "check", tmp_path / "sudoers", tmp_path / "signers", visudo())


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "source"
    file.write_bytes(onboard_program())
    return file


def visudo(status: int = 0, said: str = ""):
    return lambda argv, timeout_s, text=None: Completed(tuple(argv), status, "", said)


def tree(folder) -> dict:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, stat.S_IMODE(path.stat().st_mode))
        for path in folder.rglob("*")
    }


def test_a_dry_run_says_everything_and_changes_nothing(tmp_path, places, program):
    before = tree(tmp_path)
    found = enroll(ME, program, Roots(tmp_path / "state"), dry_run=True, places=places)
    assert tree(tmp_path) == before
    said = " ".join(found.done)
    for word in ("stacks", "models", str(places.program), str(places.sudoers)):
        assert word in said


def test_enrolled_once_and_the_second_time_nothing_is_written(tmp_path, places, program):
    roots = Roots(tmp_path / "state")
    how = {"places": places, "signers": b"ops ssh-ed25519 AAAA\n"}
    assert enroll(ME, program, roots, **how).changed
    assert stat.S_IMODE(places.sudoers.stat().st_mode) == 0o440
    assert stat.S_IMODE(places.program.stat().st_mode) == 0o755
    assert roots.stacks.is_dir()
    before = tree(tmp_path)
    again = enroll(ME, program, roots, **how)
    assert (again.changed, again.done) == (False, ())
    assert tree(tmp_path) == before


def test_a_rule_that_sudo_does_not_take_is_never_written(tmp_path, places, program):
    broken = places._replace(ask=visudo(1, "syntax error near line 2"))
    with pytest.raises(DeviceError) as caught:
        enroll(ME, program, Roots(tmp_path / "state"), places=broken)
    assert (caught.value.status, caught.value.code) == (15, "bad_sudo_rule")
    assert not places.sudoers.exists()
    assert not places.program.exists()


def test_a_board_without_sudo_says_so(tmp_path, places, program):
    with pytest.raises(DeviceError) as caught:
        enroll(ME, program, Roots(tmp_path / "s"), places=places._replace(ask=visudo(NOT_FOUND)))
    assert caught.value.code == "no_sudo"


@pytest.mark.parametrize("user", ["nobody-here", "ALL", "root\nevil ALL=(ALL) ALL", "", "%sudo"])
def test_who_is_no_user_gets_no_rule(tmp_path, places, program, user):
    with pytest.raises(DeviceError) as caught:
        enroll(user, program, Roots(tmp_path / "s"), places=places)
    assert caught.value.status == 2
    assert not places.sudoers.exists()


def test_sudo_allows_the_program_with_its_verbs_and_no_option_before_them(places):
    rule = sudo_rule("deploy", places.program).splitlines()[-1]
    allowed = rule.split("NOPASSWD: ")[1].split(", ")
    assert all(item.startswith(f"{places.program} ") for item in allowed)
    assert {item.split()[1] for item in allowed} == set(VERBS)
    assert not [item for item in allowed if item.split()[1].startswith(("-", "*"))]


def allowed(rule: str) -> list[str]:
    return rule.splitlines()[-1].split("NOPASSWD: ")[1].split(", ")


def test_who_deploys_may_probe_the_board_and_no_folder_of_its_own_making(places):
    rules = allowed(sudo_rule("deploy", places.program))
    assert [item for item in rules if item.split()[1] == "probe"] == [f"{places.program} probe"]
    assert {f"{places.program} rollout", f"{places.program} rollout *"} <= set(rules)


def test_a_board_with_the_older_rule_gets_this_one(tmp_path, places, program):
    roots = Roots(tmp_path / "state")
    enroll(ME, program, roots, places=places)
    now = places.sudoers.read_text()
    places.sudoers.chmod(0o640)
    places.sudoers.write_text(now.rstrip("\n") + f", {places.program} probe *\n")
    assert enroll(ME, program, roots, places=places).changed
    assert places.sudoers.read_text() == now


def test_unenrolled_takes_the_rule_and_leaves_what_serves(tmp_path, places, program):
    enroll(ME, program, Roots(tmp_path / "state"), places=places, signers=b"x\n")
    assert unenroll(places=places, dry_run=True).changed
    assert places.sudoers.exists()
    assert unenroll(places=places).changed
    assert not places.sudoers.exists()
    assert not places.signers.exists()
    assert places.program.exists()
    assert not unenroll(places=places).changed
