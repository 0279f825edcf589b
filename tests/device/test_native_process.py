"""A unit's process in docker's words; which release it is stands in its working folder."""

from pathlib import Path

import pytest

from speccompose.device.command import Completed
from speccompose.device.native_process import read_process, same_release

RUNS = {
    "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "Result": "success",
    "MainPID": "77", "NRestarts": "2", "ExecMainStatus": "0", "InvocationID": "a" * 32,
    "ExecMainStartTimestampMonotonic": "123456",
}  # fmt: skip
PLAN = ("host:/x/vllm@0.27.1", ("/x/vllm", "serve"), ("--port", "1"))


def seen(tmp_path: Path, **changes: str):
    said = "".join(f"{key}={value}\n" for key, value in {**RUNS, **changes}.items())
    process = tmp_path / "proc" / "77"
    process.mkdir(parents=True, exist_ok=True)
    release = tmp_path / "releases" / "abc"
    release.mkdir(parents=True, exist_ok=True)
    if not (process / "cwd").is_symlink():
        (process / "cwd").symlink_to(release)
    return read_process(
        "x.service",
        lambda argv: Completed(tuple(argv), 0, said, ""),
        lambda folder: PLAN if folder == release else None,
        tmp_path / "proc",
    )


def test_what_runs(tmp_path):
    process = seen(tmp_path)
    shown = process.as_container()
    assert (shown.id, shown.status, shown.started_at, shown.restarts) == (
        "a" * 32, "running", "123456", 2
    )  # fmt: skip
    assert (shown.image, shown.entrypoint, shown.command) == PLAN
    assert process.is_vllm
    assert same_release(process, tmp_path / "releases" / "abc")
    assert not same_release(process, tmp_path / "releases" / "other")


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"ActiveState": "activating", "SubState": "auto-restart"}, "restarting"),
        ({"ActiveState": "activating", "SubState": "start-pre"}, "created"),
        ({"ActiveState": "deactivating"}, "removing"),
        ({"ActiveState": "failed", "MainPID": "0"}, "exited"),
        ({"ActiveState": "inactive", "MainPID": "0"}, "exited"),
        ({"MainPID": "0"}, "exited"),
    ],
)
def test_what_does_not_run(tmp_path, changes, status):
    process = seen(tmp_path, **changes)
    assert process.status == status
    assert not process.is_vllm
    assert not same_release(process, tmp_path / "releases" / "abc")


def test_the_kernel_ended_it(tmp_path):
    process = seen(tmp_path, ActiveState="failed", Result="oom-kill", ExecMainStatus="137")
    assert (process.out_of_memory, process.exit_code) == (True, 137)


def test_a_unit_that_is_not_there_is_no_container(tmp_path):
    assert seen(tmp_path, LoadState="not-found").as_container() is None


def test_a_process_that_has_just_ended_is_of_no_release(tmp_path):
    process = seen(tmp_path, MainPID="78")
    assert (process.status, process.release) == ("running", None)
    assert not process.is_vllm
