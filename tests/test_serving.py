"""What acts on this machine: the same deploy twice is one digest; previews touch nothing."""

import json
from pathlib import Path

import msgspec
import pytest

from speccompose import serving
from speccompose.errors import MemoryFitError, SpecComposeError, UsageError
from speccompose.pipeline import plan_stack, render_plan
from speccompose.vocab.request import StackRequest
from speccompose.world.stack_folder import write_stack
from tests.field_boards import recorded
from tests.serving_board import ServingBoard, serving_board, with_memory

__all__ = ["serving_board"]

NAME = "smollm2-135m"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_deploy_and_the_same_again(serving_board: ServingBoard):
    first = serving_board.deploy()
    assert first.changed
    calls = len(serving_board.docker.calls)
    again = serving_board.deploy()
    assert (again.changed, again.digest) == (False, first.digest)
    assert not [call for call in serving_board.docker.calls[calls:] if "up" in call]


def test_the_running_stack_holds_memory_and_keeps_its_digest(serving_board: ServingBoard):
    first = serving_board.deploy(available_mib=16_000)
    again = serving_board.deploy(available_mib=6_000)
    assert (again.changed, again.digest) == (False, first.digest)


def test_another_request_is_another_release(serving_board: ServingBoard):
    first = serving_board.deploy()
    second = serving_board.deploy(context_tokens=1024)
    assert second.changed
    assert second.previous_digest == first.digest


def test_a_stack_that_cannot_be_pulled_offline_is_refused_by_preflight(
    serving_board: ServingBoard,
):
    serving_board.docker.images.clear()
    with pytest.raises(SpecComposeError) as caught:
        serving_board.deploy(offline=True)
    assert (caught.value.status, caught.value.code) == (15, "image_missing")
    assert not (serving_board.state / "stacks" / NAME / "current").exists()


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda board: setattr(board.machine, "port_fault", "in use"), "port_taken"),
        (lambda board: setattr(board.machine, "memory", {"MemAvailable": 900}), "memory_short"),
        (lambda board: setattr(board.machine, "disk_mib", 10), "disk_full"),
    ],
    ids=["port", "memory", "disk"],
)
def test_what_refuses_a_deploy_refuses_it_before_anything_is_pulled(
    serving_board: ServingBoard, spoil, code
):
    serving_board.docker.images.clear()
    spoil(serving_board)
    with pytest.raises(SpecComposeError) as caught:
        serving_board.deploy()
    assert (caught.value.status, caught.value.code) == (15, code)
    assert not [call for call in serving_board.docker.calls if "pull" in call]
    preview = serving.preview_request(
        serving_board.request(), serving_board.board(), serving_board.here
    )
    assert code in [item.code for item in preview.findings if item.severity == "error"]


def test_pull_of_what_is_there_brings_nothing(serving_board: ServingBoard, tmp_path):
    folder = rendered(serving_board, tmp_path)
    brought = serving.pull_folder(folder, serving_board.here)
    assert (brought.image, brought.weights) == (None, [])


def test_b_05_a_pull_does_not_fill_the_disk_underneath(serving_board: ServingBoard, tmp_path):
    folder = rendered(serving_board, tmp_path)
    serving_board.docker.images.clear()
    texts = serving_board.machine.reader.texts
    texts["/proc/mounts"] = "/dev/mmcblk0p1 / ext4 rw 0 0\n"
    texts["/etc/fstab"] = f"/dev/nvme0n1p1 {serving_board.state} ext4 defaults,nofail 0 2\n"
    with pytest.raises(SpecComposeError) as caught:
        serving.pull_folder(folder, serving_board.here)
    assert (caught.value.status, caught.value.code) == (15, "mount_missing")
    assert not [call for call in serving_board.docker.calls if "pull" in call]


def rendered(board: ServingBoard, tmp_path: Path, **options: object) -> Path:
    plan = plan_stack(board.request(**options), board.board(), board.here.catalog)
    folder = tmp_path / "rendered"
    write_stack(render_plan(plan, board.here.catalog), folder)
    return folder


def test_a_rendered_folder_is_deployed_as_it_is(serving_board: ServingBoard, tmp_path):
    folder = rendered(serving_board, tmp_path, context_tokens=1024)
    done = serving.deploy_folder(folder, serving_board.here)
    assert done.digest == json.loads((folder / "plan.json").read_text())["digest"]


def test_find_folder(serving_board: ServingBoard, tmp_path):
    settings = serving_board.here.settings
    folder = rendered(serving_board, tmp_path)
    assert serving.find_folder(str(folder), settings) == folder
    with pytest.raises(UsageError) as caught:
        serving.find_folder("./nowhere", settings)
    assert caught.value.code == "no_stack_folder"
    with pytest.raises(UsageError) as caught:
        serving.find_folder("nothing", settings)
    assert caught.value.code == "unknown_stack"
    done = serving_board.deploy()
    found = serving.find_folder(NAME, settings)
    assert found.name == done.digest.removeprefix("sha256:")


def test_preview_of_a_first_deploy_touches_nothing(serving_board: ServingBoard):
    before = files(serving_board.state)
    preview = serving.preview_request(
        serving_board.request(), serving_board.board(), serving_board.here
    )
    assert preview.changed
    assert preview.current_digest is None
    assert "+services:" in preview.changes
    assert preview.findings == ()
    assert files(serving_board.state) == before
    assert not [call for call in serving_board.docker.calls if "up" in call]


def test_preview_of_the_same_and_of_a_change(serving_board: ServingBoard):
    def preview(**options: object):
        return serving.preview_request(
            serving_board.request(**options), serving_board.board(), serving_board.here
        )

    done = serving_board.deploy()
    same = preview()
    assert (same.changed, same.current_digest, same.changes) == (False, done.digest, ())
    other = preview(context_tokens=1024)
    assert other.changed
    lines = [line for line in other.changes if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert {line.split('"')[1] for line in lines} >= {"8192", "16384"}


def test_preview_tells_what_stands_in_the_way(serving_board: ServingBoard):
    serving_board.machine.port_fault = "in use"
    serving_board.docker.images.clear()
    preview = serving.preview_request(
        serving_board.request(), serving_board.board(), serving_board.here
    )
    found = {finding.code: finding.severity.value for finding in preview.findings}
    assert found == {"port_taken": "error", "would_pull": "info"}
    assert preview.refused


def test_preview_of_what_deploy_would_bring_first_is_no_refusal(serving_board: ServingBoard):
    serving_board.docker.images.clear()

    def preview(**options: object):
        request = serving_board.request(**options)
        return serving.preview_request(request, serving_board.board(), serving_board.here)

    assert not preview().refused
    assert [finding.code for finding in preview(offline=True).findings] == ["image_missing"]
    assert preview(offline=True).refused


def test_preview_of_what_serves_looks_no_further_as_deploy_does(serving_board: ServingBoard):
    serving_board.deploy()
    serving_board.machine.memory = {"MemAvailable": 1, "MemTotal": 24_000}
    again = serving.preview_request(
        serving_board.request(), serving_board.board(), serving_board.here
    )
    assert (again.changed, again.findings) == (False, ())
    serving_board.docker.containers.clear()
    stopped = serving.preview_request(
        serving_board.request(), serving_board.board(), serving_board.here
    )
    assert stopped.refused


def test_an_installed_plan_that_cannot_be_read_counts_as_none(serving_board: ServingBoard):
    settings = serving_board.here.settings
    assert serving.installed_document(NAME, settings) is None
    serving_board.deploy()
    assert serving.installed_document(NAME, settings).name == NAME
    file = serving_board.state / "stacks" / NAME / "current" / "plan.json"
    good = json.loads(file.read_text())
    for damaged in ("", "{", "[]", json.dumps({**good, "from_the_future": 1})):
        file.write_text(damaged)
        assert serving.installed_document(NAME, settings) is None


VLLM = StackRequest(model="qwen3-8b")


@pytest.fixture
def thor(serving_board: ServingBoard, catalog):
    """A Thor on which qwen3-8b was committed with what was free then."""

    def commit(available_mib: int, request: StackRequest = VLLM):
        asked = own(serving_board, request)
        board = with_memory(recorded("d-01"), available_mib)
        plan = plan_stack(asked, board, catalog)
        home = serving_board.state / "stacks" / plan.name
        write_stack(render_plan(plan, catalog), home / "releases" / "x")
        (home / "current").symlink_to("releases/x")
        return plan

    return commit


def own(board: ServingBoard, request: StackRequest) -> StackRequest:
    settings = board.here.settings
    return msgspec.structs.replace(
        request, state_root=settings.state_root, secrets_root=settings.secrets_root
    )


def test_a_redeploy_plans_with_the_committed_memory(serving_board, thor):
    committed = thor(60_000)
    asked = own(serving_board, VLLM)
    now = with_memory(recorded("d-01"), 30_000)
    again = serving.plan_here(asked, now, serving_board.here)
    assert again.digest == committed.digest
    fresh = serving.plan_here(asked, now, serving_board.here, replan=True)
    assert fresh.digest != committed.digest
    assert fresh.memory.available_mib == 29_952  # 30000 MiB in steps of 256


def test_when_it_no_longer_fits_that_way_the_board_is_read_again(serving_board, thor, catalog):
    """Committed on a busy board; now more is free and more is asked for."""
    thor(26_000)
    big = own(serving_board, msgspec.structs.replace(VLLM, context_tokens=32768, concurrency=8))
    busy = with_memory(recorded("d-01"), 26_000)
    with pytest.raises(MemoryFitError):
        plan_stack(msgspec.structs.replace(big, method="dflash", engine="vllm"), busy, catalog)
    asked = msgspec.structs.replace(big, method="dflash", engine="vllm")
    plan = serving.plan_here(asked, with_memory(recorded("d-01"), 110_000), serving_board.here)
    assert plan.memory.available_mib > 100_000


def test_another_name_is_another_stack(serving_board, thor):
    committed = thor(60_000)
    asked = own(serving_board, msgspec.structs.replace(VLLM, name="second"))
    now = with_memory(recorded("d-01"), 30_000)
    assert serving.committed_plan(asked, serving_board.here) is None
    second = serving.plan_here(asked, now, serving_board.here)
    assert second.memory.available_mib < committed.memory.available_mib


def test_an_interrupted_deploy_is_130(serving_board: ServingBoard):
    def interrupt() -> None:
        serving_board.docker.after_up = lambda: None
        raise KeyboardInterrupt

    serving_board.docker.after_up = interrupt
    with pytest.raises(SpecComposeError, match="was interrupted") as caught:
        serving_board.deploy()
    assert caught.value.status == 130


def test_deploying_an_unknown_model_is_a_usage_error(serving_board: ServingBoard):
    with pytest.raises(UsageError):
        serving_board.deploy(model="nothing")


def test_a_key_reaches_the_server_and_no_file_of_the_release(serving_board, tmp_path):
    key = tmp_path / "key"
    key.write_text("sk-planted-77\n")
    serving_board.deploy(bind="0.0.0.0", api_key_file=str(key))
    releases = serving_board.state / "stacks"
    texts = [path.read_bytes() for path in releases.rglob("*") if path.is_file()]
    assert texts
    assert not [text for text in texts if b"sk-planted-77" in text]
    (secret,) = (tmp_path / "secrets" / NAME).iterdir()
    assert secret.read_text().strip() == "sk-planted-77"
    assert secret.stat().st_mode & 0o777 == 0o400
    assert "sk-planted-77" not in str(serving_board.docker.calls) + str(serving_board.said)
