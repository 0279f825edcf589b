"""What an operator asks: each verb on a stack that runs, one that does not, and one unknown."""

import pytest

from speccompose.device import operate, take_down
from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.confirm import expire
from speccompose.device.docker_cli import Docker
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.transaction import deploy
from tests.device.units import FakeUnits
from tests.docker.stacks import DRAFT, TARGET, plan_body


@pytest.fixture
def installed(board):
    deploy(board.write(), board.roots, ports=board.ports)
    return board


def test_status(installed):
    found = operate.status("tiny", installed.roots, ports=installed.ports)
    assert (found.phase, found.state, found.health) == ("committed", "running", "healthy")
    assert found.endpoint == "http://127.0.0.1:8099/v1"
    assert (found.model, found.method) == ("tests/tiny-target", "draft_model")
    assert operate.all_status(installed.roots, ports=installed.ports) == [found]
    assert found.as_dict()["restarts"] == 0


def test_status_without_a_container(installed):
    installed.docker.containers.clear()
    found = operate.status("tiny", installed.roots, ports=installed.ports)
    assert (found.state, found.health, found.container) == (None, None, None)


def damage(board, name="plan.json") -> None:
    with (board.paths.current / name).open("a") as file:
        file.write("\n")


def test_a_damaged_release_does_not_make_a_serving_stack_look_dead(installed):
    damage(installed)
    found = operate.status("tiny", installed.roots, ports=installed.ports)
    assert (found.state, found.health) == ("running", "healthy")
    assert found.notice == "release damaged: differs from SHA256SUMS: plan.json"
    with pytest.raises(DeviceError) as caught:
        operate.verify("tiny", installed.roots, ports=installed.ports)
    assert (caught.value.status, caught.value.code) == (19, "release_damaged")


def test_logs_of_a_damaged_release_show_no_key(installed):
    damage(installed)
    installed.paths.secrets.mkdir(parents=True)
    (installed.paths.secrets / "vllm.yaml").write_text('api-key: "my-own-key"')
    installed.docker.log = "Bearer: my-own-key!\n"
    text = operate.logs("tiny", installed.roots, ports=installed.ports)
    assert "my-own-key" not in text


def test_weights_stay_while_a_damaged_release_may_need_them(installed):
    other = installed.write(name="other", port=8100)
    deploy(other, installed.roots, ports=installed.ports)
    damage(installed)
    with pytest.raises(DeviceError) as caught:
        take_down.remove("other", installed.roots, ports=installed.ports, weights=True)
    assert caught.value.status == 19
    assert (installed.roots.models / TARGET).exists()
    assert "speccompose-other" in installed.docker.containers
    take_down.remove("other", installed.roots, ports=installed.ports)


def test_status_does_not_wait_long_for_a_docker_that_hangs(installed):
    asked = []

    def hangs(argv, timeout_s):
        asked.append(timeout_s)
        return Completed(tuple(argv), TIMED_OUT, "", "timed out")

    with pytest.raises(DeviceError) as caught:
        operate.status(
            "tiny", installed.roots, ports=installed.ports._replace(docker=Docker(hangs))
        )
    assert caught.value.status == 15
    assert "within 10 s" in caught.value.brief
    assert asked == [10.0]


def test_status_says_a_damaged_file_and_does_not_touch_it(installed):
    installed.paths.state_file.write_text("{")
    found = operate.status("tiny", installed.roots, ports=installed.ports)
    assert "damaged" in found.notice
    assert installed.paths.state_file.read_text() == "{"


@pytest.mark.parametrize(
    "verb", [operate.status, operate.logs, operate.verify, take_down.stop, take_down.remove]
)
def test_an_unknown_name_is_status_2_with_the_known(installed, verb):
    with pytest.raises(DeviceError) as caught:
        verb("other", installed.roots, ports=installed.ports)
    assert (caught.value.status, caught.value.details) == (2, ("installed: tiny",))


def test_logs_show_no_secret(installed):
    installed.docker.log = "one\ntoken hf_0123456789\n"
    text = operate.logs("tiny", installed.roots, ports=installed.ports, tail=5)
    assert text == "one\ntoken hf_***\n"
    assert installed.docker.calls[-1][2:4] == ("--tail", "5")


def test_verify_asks_the_running_server(installed):
    assert operate.verify("tiny", installed.roots, ports=installed.ports).drafts == 4


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda docker: docker.containers.clear(), "not_running"),
        (lambda docker: state(docker).update(Status="exited"), "not_running"),
        (lambda docker: command(docker).append("--never-ready"), "unhealthy"),
        (lambda docker: command(docker).append("--no-drafts"), "not_speculating"),
    ],
)
def test_verify_is_9_with_what_is_wrong(installed, spoil, code):
    spoil(installed.docker)
    with pytest.raises(DeviceError) as caught:
        operate.verify("tiny", installed.roots, ports=installed.ports)
    assert (caught.value.status, caught.value.code) == (9, code)


def test_stop_keeps_it_installed(installed):
    take_down.stop("tiny", installed.roots, ports=installed.ports)
    found = operate.status("tiny", installed.roots, ports=installed.ports)
    assert (found.phase, found.state) == ("stopped", "exited")
    folder = operate.installed_folder("tiny", installed.roots)
    assert deploy(folder, installed.roots, ports=installed.ports).changed


def test_remove_keeps_weights_and_caches(installed):
    gone = take_down.remove("tiny", installed.roots, ports=installed.ports)
    assert gone.weights == ()
    assert not installed.paths.home.exists()
    assert not installed.paths.lock_file.exists()
    assert (installed.roots.models / TARGET / "model.gguf").exists()
    assert installed.docker.containers == {}
    assert "--volumes" not in next(c for c in installed.docker.calls if "down" in c)


def test_remove_takes_weights_that_nobody_else_uses(installed):
    target_only = {"downloads": installed_downloads(installed)[:1]}
    other = installed.write(name="other", port=8100, changes=target_only)
    deploy(other, installed.roots, ports=installed.ports)
    gone = take_down.remove("tiny", installed.roots, ports=installed.ports, weights=True)
    assert gone.weights == (DRAFT,)
    assert (installed.roots.models / TARGET).exists()
    assert not (installed.roots.models / DRAFT).exists()


def test_nothing_is_removed_while_docker_is_down(installed):
    installed.docker.answers = False
    with pytest.raises(DeviceError) as caught:
        take_down.remove("tiny", installed.roots, ports=installed.ports)
    assert caught.value.status == 15
    assert installed.paths.home.exists()


def state(docker) -> dict:
    return docker.containers["speccompose-tiny"]["State"]


def command(docker) -> list[str]:
    return docker.containers["speccompose-tiny"]["Config"]["Cmd"]


def installed_downloads(board) -> list[dict]:
    return plan_body(board.stack)["downloads"]


def test_status_says_how_a_transaction_stands(installed):
    units = FakeUnits()
    installed.ports = installed.ports._replace(units=units)
    new = installed.write(extra=("--new",))
    order = Order(rollout="r1", confirm_within_s=600)
    deploy(new, installed.roots, ports=installed.ports, order=order)
    installed.machine.clock_s += 100
    notice = operate.status("tiny", installed.roots, ports=installed.ports).notice
    assert "rolled back in 500 s unless confirmed" in notice
    assert "deploy for rollout r1" in notice
    expire_at = installed.machine.clock_s + 500
    installed.machine.clock_s = expire_at
    expire("tiny", installed.roots, ports=installed.ports, rollout="r1")
    (installed.roots.state / "hold").write_text("camera job")
    notice = operate.status("tiny", installed.roots, ports=installed.ports).notice
    assert "the last deploy was undone: nobody confirmed it in time" in notice
    assert "camera job" in notice


def test_health_asks_the_server_and_no_tokens(installed):
    assert operate.health("tiny", installed.roots, ports=installed.ports).state == "running"
    command(installed.docker).append("--never-ready")
    with pytest.raises(DeviceError) as caught:
        operate.health("tiny", installed.roots, ports=installed.ports)
    assert (caught.value.status, caught.value.details[-1]) == (9, "the server says: 503")
    installed.docker.containers.clear()
    with pytest.raises(DeviceError) as caught:
        operate.health("tiny", installed.roots, ports=installed.ports)
    assert "container missing" in caught.value.details[0]
