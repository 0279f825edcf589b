import pytest

from speccompose.plan import host_text
from speccompose.vocab.facts import RawFacts

ROW = "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader"


def facts(files=None, commands=None):
    return RawFacts(origin="test", files=files or {}, commands=commands or {})


def test_memory_is_rounded_down_to_mib():
    text = "MemTotal: 16000000 kB\nMemFree: 900000 kB\nMemAvailable:   14000000 kB\nHugePages: 0\n"
    read = host_text.read_memory(facts({"/proc/meminfo": text}))
    assert (read.total_mib, read.available_mib, read.free_mib) == (15625, 13671, 878)


@pytest.mark.parametrize(
    "text", ["", "MemTotal: x kB", "MemTotal: -5 kB", "MemTotal: 0 kB", "9" * 99]
)
def test_unreadable_memory_is_not_known(text):
    assert host_text.read_memory(facts({"/proc/meminfo": text})).total_mib is None


def test_no_more_is_available_than_there_is():
    text = "MemTotal: 2048 kB\nMemAvailable: 999999999 kB\n"
    assert host_text.read_memory(facts({"/proc/meminfo": text})).available_mib == 2


@pytest.mark.parametrize(
    ("commands", "name"),
    [
        ({"uname -m": "aarch64\n"}, "aarch64"),
        ({"uname -m": "arm64"}, "aarch64"),
        ({"uname -m": "AMD64"}, "x86_64"),
        ({"docker info --format {{json .}}": '{"Architecture":"aarch64","NCPU":12}'}, "aarch64"),
        ({"uname -m": "x86_64", "docker info": '"Architecture": "aarch64"'}, "x86_64"),
        ({"uname -m": "\n"}, None),
        ({}, None),
    ],
)
def test_architecture(commands, name):
    assert host_text.read_architecture(facts(commands=commands)) == name


@pytest.mark.parametrize(
    ("command", "output", "name"),
    [
        (ROW, "Orin (nvgpu), [N/A]\n", "Orin (nvgpu)"),
        (ROW, "NVIDIA Thor, [N/A]\n", "NVIDIA Thor"),
        ("nvidia-smi --query-gpu=index,name", "0, Orin (nvgpu), [N/A], [N/A]\n", "Orin (nvgpu)"),
        ("nvidia-smi --query-gpu=name --format=csv", "name\nNVIDIA GB10\n", "NVIDIA GB10"),
        ("nvidia-smi -L", "GPU 0: NVIDIA GB10 (UUID: GPU-1-2)\n", "NVIDIA GB10"),
        (ROW, "NVIDIA-SMI has failed because it couldn't communicate\n", None),
        (ROW, "[N/A], [N/A]\n", None),
        (ROW, "\n", None),
        ("tegrastats", "NVIDIA GB10", None),
    ],
)
def test_gpu_name(command, output, name):
    assert host_text.read_gpu_name(facts(commands={command: output})) == name


@pytest.mark.parametrize(
    ("output", "mode"),
    [
        ("NV Power Mode: 25W\n1\n", "25W"),
        ("NVPM WARN: fan mode is not set!\nNV Power Mode: MAXN_SUPER\n2\n", "MAXN_SUPER"),
        ("NV Power Mode:\n0\n", None),
        ("", None),
    ],
)
def test_power_mode(output, mode):
    assert host_text.read_power_mode(facts(commands={"nvpmodel -q": output})) == mode


def test_ubuntu_and_only_ubuntu():
    ubuntu = 'ID=ubuntu\nVERSION_ID="24.04"\nID_LIKE=debian\n'
    assert host_text.read_ubuntu(facts({"/etc/os-release": ubuntu})) == "24.04"
    assert host_text.read_ubuntu(facts({"/etc/os-release": 'ID=debian\nVERSION_ID="12"\n'})) is None
    assert host_text.read_ubuntu(facts()) is None


def test_kernel():
    assert (
        host_text.read_kernel(facts(commands={"uname -r": "5.15.148-tegra\n"})) == "5.15.148-tegra"
    )
    assert host_text.read_kernel(facts()) is None
