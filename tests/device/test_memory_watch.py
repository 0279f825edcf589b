"""The most that was in use, told with how it is known."""

from speccompose.device.memory_watch import MemoryWatch

MEMINFO = "MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable: {} kB\nBuffers: 3 kB\n"


def board(tmp_path, available_kib):
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO.format(available_kib))


def test_the_board_is_sampled_at_either_end(tmp_path):
    board(tmp_path, 12_000_000)
    with MemoryWatch(root=tmp_path) as watch:
        board(tmp_path, 8_000_000)
    peak = watch.peak()
    assert peak.board_mib == 8_000_000 // 1024
    assert peak.container_mib is None
    assert "MemTotal - MemAvailable" in peak.source


def test_the_containers_group_where_there_is_one(tmp_path):
    board(tmp_path, 12_000_000)
    group = tmp_path / "sys/fs/cgroup/system.slice/docker-abc.scope"
    group.mkdir(parents=True)
    (group / "memory.current").write_text(f"{300 * 1024 * 1024}\n")
    with MemoryWatch("abc", tmp_path) as watch:
        pass
    assert watch.peak().container_mib == 300
    assert "control group" in watch.peak().source
    with MemoryWatch("another", tmp_path) as other:
        pass
    assert other.peak().container_mib is None


def test_a_machine_that_does_not_tell(tmp_path):
    with MemoryWatch("abc", tmp_path) as watch:
        pass
    assert watch.peak().as_dict() == {
        "board_mib": None,
        "container_mib": None,
        "source": "this machine has no /proc/meminfo that tells",
    }


def test_this_machine_tells():
    with MemoryWatch() as watch:
        pass
    assert watch.peak().board_mib > 100
