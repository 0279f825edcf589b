"""A host is read once, in time, without secrets, and changed in nothing."""

import json

from speccompose.device.command import Completed
from speccompose.device.observe import COMMANDS, DOCKER_INFO, FILES, RAW_OPT_OUT, observe
from speccompose.device.preflight import judge, plan_needs

READING = ("show", "get-default", "-W", "-nG", "group", "-q", "--version", "cdi")
PROXY = "http://user:pr0xy-pass@proxy:3128"


def test_only_what_reads_is_run(board):
    """Programs that could change something are run with words that only ask."""
    observe(board.ports, board.roots)
    for argv in board.machine.reader.calls:
        assert any(
            word in argv for word in (*READING, "--query-compute-apps=pid,process_name,used_memory")
        ), argv
    for argv in board.docker.calls:
        assert argv[1] in ("info", "version", "compose", "ps", "container", "image"), argv
        assert not {"up", "down", "stop", "rm", "pull", "prune", "run"} & set(argv), argv


def test_every_command_is_asked_once(board):
    observe(board.ports, board.roots)
    assert sorted(board.machine.reader.calls) == sorted(COMMANDS)


def test_another_user_is_asked_about_sudo(board):
    board.machine.reader.user = 1000
    observe(board.ports, board.roots)
    assert ("sudo", "-n", "true") in board.machine.reader.calls


def test_the_daemons_log_is_read_only_when_it_does_not_answer(board):
    def journal():
        return [argv for argv in board.machine.reader.calls if argv[0] == "journalctl"]

    observe(board.ports, board.roots)
    assert journal() == []
    board.docker.answers = False
    found = observe(board.ports, board.roots)
    assert len(journal()) == 1
    assert "docker compose version --short" not in found.outputs


def test_when_time_is_over_the_rest_is_not_asked(board):
    """A host whose programs hang is judged by what is known, and soon."""
    slow = board.machine.reader.run

    def hanging(argv, timeout_s):
        board.machine.clock_s += timeout_s
        return slow(argv, timeout_s)

    board.machine.reader.run = hanging
    found = observe(board.ports, board.roots)
    assert 0 < len(board.machine.reader.calls) < len(COMMANDS)
    assert board.machine.clock_s < 60
    judge(found, plan_needs(board.plan()))


def test_settings_are_kept_without_their_values(board):
    key = "systemctl show docker.service --property=Environment"
    out = f"Environment=HTTP_PROXY={PROXY} TOKEN=abc {RAW_OPT_OUT}=1\n"
    board.machine.reader.outputs[key] = Completed(tuple(key.split()), 0, out, "")
    board.machine.reader.texts["/etc/default/docker"] = f'export HTTPS_PROXY="{PROXY}"\n'
    found = observe(board.ports, board.roots)
    assert f"{RAW_OPT_OUT}=1" in found.outputs[key].out
    assert "HTTP_PROXY" in found.outputs[key].out
    everything = repr(found)
    for secret in ("pr0xy-pass", "abc"):
        assert secret not in everything


def test_a_proxy_in_docker_info_keeps_no_password(board):
    board.docker.info["HttpProxy"] = PROXY
    board.machine.reader.texts["/etc/docker/daemon.json"] = json.dumps(
        {"proxies": {"http-proxy": PROXY}}
    )
    found = observe(board.ports, board.roots)
    assert "pr0xy-pass" not in repr(found)
    assert json.loads(found.outputs[DOCKER_INFO].out)["ServerVersion"] == "28.1.0"


def test_cdi_paths_that_are_gone(board):
    there, gone = "/usr/lib/a.so", "/usr/lib/b.so"
    board.machine.reader.texts["/etc/cdi/nvidia.yaml"] = (
        f"mounts:\n- hostPath: {there}\n- hostPath: '{gone}'\n"
    )
    board.machine.reader.texts[there] = ""
    assert observe(board.ports, board.roots).absent == (gone,)


def test_modules_are_only_those_that_matter(board):
    path = "/lib/modules/6.8.12-tegra/modules.dep"
    board.machine.reader.texts[path] = "kernel/a/xt_comment.ko.zst:\nkernel/b/snd.ko:\n"
    assert observe(board.ports, board.roots).modules == "kernel/a/xt_comment.ko.zst:\n"


def test_a_host_that_tells_nothing(board):
    found = observe(board.ports, board.roots)
    assert found.files == {}
    assert set(found.files) <= set(FILES)
    assert found.modules is None
