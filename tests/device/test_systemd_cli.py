"""systemctl's answers as values; unit files written once; a fixed unit name is a lock."""

from pathlib import Path

import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.systemd_cli import Places, Systemd
from tests.device.fake_systemd import FakeSystemd

UNIT = b"[Unit]\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def fake(tmp_path: Path) -> FakeSystemd:
    return FakeSystemd(tmp_path / "units")


@pytest.fixture
def systemd(fake: FakeSystemd, tmp_path: Path) -> Systemd:
    return fake.systemd()


def test_without_systemd_it_says_so(tmp_path):
    there, none = Places(booted=tmp_path), Places(booted=tmp_path / "none")
    assert not Systemd(places=none, is_root=lambda: True).available()
    assert Systemd(places=there, is_root=lambda: True).available()
    assert not Systemd(places=there, is_root=lambda: False).available()


@pytest.mark.parametrize(("folder", "outlives"), [
    ("/var/lib/speccompose", True), ("/home/me", True), ("/tmp/x", False), ("/run/x", False),
    ("/tmpfiles", True), ("/dev/shm", False),
])  # fmt: skip
def test_what_is_swept_away_at_boot_is_known(folder, outlives):
    assert Systemd().outlives_boot(Path(folder)) is outlives


def test_a_unit_is_written_once_and_read_once(fake, systemd):
    assert systemd.install({"a.service": UNIT}) == ("a.service",)
    assert systemd.installed("a.service") == UNIT
    assert fake.reloads == 1
    assert systemd.install({"a.service": UNIT}) == ()
    assert fake.reloads == 1
    assert systemd.install({"a.service": UNIT + b"# more\n", "b.service": UNIT}) == (
        "a.service",
        "b.service",
    )
    assert fake.reloads == 2
    assert (fake.folder / "a.service").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in fake.folder.iterdir()) == ["a.service", "b.service"]


def test_what_a_person_masked_stays_masked(fake, systemd):
    fake.folder.mkdir()
    (fake.folder / "a.service").symlink_to("/dev/null")
    with pytest.raises(DeviceError) as caught:
        systemd.install({"a.service": UNIT})
    assert (caught.value.status, caught.value.code) == (15, "unit_masked")
    assert (fake.folder / "a.service").is_symlink()


def test_a_folder_that_cannot_be_written_is_told(fake, systemd):
    fake.folder.write_text("no folder")
    with pytest.raises(DeviceError) as caught:
        systemd.install({"a.service": UNIT})
    assert caught.value.code == "unit_unwritable"


def test_enable_and_disable_say_whether_they_changed_something(fake, systemd):
    systemd.install({"a.service": UNIT})
    assert systemd.enable("a.service")
    assert systemd.is_enabled("a.service")
    assert not systemd.enable("a.service")
    assert systemd.disable("a.service")
    assert not systemd.disable("a.service")
    assert fake.reloads == 1


def test_uninstall_takes_file_and_link_away_and_passes_over_what_is_gone(fake, systemd):
    systemd.install({"a.service": UNIT})
    systemd.enable("a.service")
    assert systemd.uninstall(["a.service", "none.service"]) == ("a.service",)
    assert not systemd.state("a.service").exists
    reloads = fake.reloads
    assert systemd.uninstall(["a.service"]) == ()
    assert fake.reloads == reloads


def test_start_and_stop_wait_and_tell_what_systemd_said(fake, systemd):
    systemd.install({"a.service": UNIT})
    systemd.start("a.service", 5)
    assert systemd.state("a.service").is_active
    systemd.stop("a.service", 5)
    assert not systemd.state("a.service").is_active
    assert systemd.unit_state("a.service") == "inactive"
    assert systemd.unit_state("never.service") is None
    systemd.stop("never.service", 5)
    with pytest.raises(DeviceError) as caught:
        systemd.start("never.service", 5)
    assert caught.value.details == ("Unit never.service not found.",)
    fake.hangs = True
    with pytest.raises(DeviceError, match="not done after 5 s"):
        systemd.start("a.service", 5)


def test_a_timer_is_armed_set_anew_and_called_off(fake, systemd):
    systemd.arm("confirm-a", 600.4, ["/x/check", "rollback", "a"])
    assert systemd.is_armed("confirm-a")
    assert fake.timers == {"confirm-a": (600, ("/x/check", "rollback", "a"))}
    systemd.arm("confirm-a", 0.2, ["/x/check"])
    assert fake.timers == {"confirm-a": (1, ("/x/check",))}
    systemd.disarm("confirm-a")
    assert not systemd.is_armed("confirm-a")
    systemd.disarm("confirm-a")


def test_one_transient_unit_of_a_name_at_a_time(fake, systemd, tmp_path):
    output = tmp_path / "out.json"
    output.write_text("of an earlier run")
    systemd.run_transient("deploy", ["/x/check", "deploy"], output)
    assert not output.exists()
    assert f"--property=StandardOutput=file:{output}" in fake.calls[-1]
    with pytest.raises(DeviceError) as caught:
        systemd.run_transient("deploy", ["/x/check", "deploy"])
    assert caught.value.status == 12
    fake.end("deploy.service")
    systemd.run_transient("deploy", ["/x/check", "deploy"])


def test_who_comes_second_in_a_race_is_locked_out(fake, systemd):
    fake.race = True
    with pytest.raises(DeviceError) as caught:
        systemd.run_transient("deploy", ["/x/check"])
    assert caught.value.status == 12


@pytest.mark.parametrize("name", ["--now", "../a.service", "a b.service", "", "a/b"])
def test_a_name_can_be_no_option_and_no_path(systemd, name):
    with pytest.raises(ValueError, match="no unit name"):
        systemd.state(name)


def test_an_answer_that_says_nothing_is_no_unit(tmp_path):
    from speccompose.device.command import Completed

    silent = Systemd(lambda argv, timeout_s: Completed(tuple(argv), 1, "", "no bus"))
    assert not silent.state("a.service").exists
    assert not silent.is_armed("a")
    with pytest.raises(DeviceError, match="systemctl daemon-reload failed"):
        silent.reload()


def test_a_transient_unit_may_have_something_run_afterwards(fake, systemd):
    systemd.run_transient("speccompose-apply", ("x",), afterwards=("undo", "a b"))
    assert "--property=ExecStopPost=undo 'a b'" in fake.calls[-1]


def test_a_transient_unit_is_not_killed_while_it_puts_things_back(fake, systemd):
    """systemd kills after 90 s otherwise, and at shutdown docker would go first."""
    systemd.run_transient("speccompose-apply", ("x",), afterwards=("undo",))
    options = fake.calls[-1][: fake.calls[-1].index("--")]
    assert "--property=TimeoutStopSec=infinity" in options
    assert "--property=After=docker.service" in options
