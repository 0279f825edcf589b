import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.errors import SpecComposeError
from speccompose.plan.detect import detect_device, is_dgx_spark
from speccompose.plan.resolve import resolve_device
from speccompose.vocab.facts import RawFacts

TREE = "/sys/firmware/devicetree/base/"
RELEASE = "/etc/nv_tegra_release"
R36 = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic\n"
ROW = "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader"
ARM = {"uname -m": "aarch64\n"}


def detect(files=None, commands=None):
    return detect_device(RawFacts(origin="test", files=files or {}, commands=commands or {}))


def outcome(detected, catalog, assumed=None):
    """The device or the refusal; any other exception fails the test."""
    try:
        return resolve_device(detected, catalog, assume_l4t=assumed), None
    except SpecComposeError as error:
        return None, error


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({RELEASE: R36}, {}),
        ({RELEASE: "broken"}, {}),
        ({TREE + "compatible": "vendor,box\0nvidia,tegra234\0"}, {}),
        ({"/proc/device-tree/compatible": "nvidia,p3767-0000"}, {}),
        ({TREE + "model": "NVIDIA Shield\0"}, {}),
        ({"/sys/class/dmi/id/product_name": "Jetson AGX Orin\n"}, {}),
        ({"/etc/nv_boot_control.conf": ""}, {}),
        ({"/sys/devices/soc0/family": "Tegra\n"}, {}),
        ({}, {"uname -r": "5.15.148-tegra\n"}),
        ({}, {ROW: "Orin (nvgpu), [N/A]\n"}),
        ({}, {ROW: "NVIDIA Thor, [N/A]\n"}),
        ({}, {"dpkg-query -W nvidia-l4t-core": "nvidia-l4t-core\t36.4.3-2025\n"}),
    ],
)
def test_one_mark_of_tegra_is_enough(files, commands, catalog):
    detected = detect(files, ARM | commands)
    assert detected.is_tegra
    device, error = outcome(detected, catalog)
    assert device is None or device.family != "generic"
    assert error is None or error.status == 4


@pytest.mark.parametrize(
    ("architecture", "gpu", "spark"),
    [
        ("aarch64", "NVIDIA GB10", True),
        ("aarch64", "GB10", True),
        (None, "NVIDIA GB10", True),
        ("x86_64", "NVIDIA GB10", False),
        ("aarch64", "NVIDIA GB100", False),
        ("aarch64", "NVIDIA GH200 480GB", False),
        ("aarch64", None, False),
    ],
)
def test_dgx_spark_is_aarch64_and_gb10(architecture, gpu, spark):
    assert is_dgx_spark(architecture, gpu) is spark


def test_dgx_release_alone_proves_nothing():
    files = {"/etc/dgx-release": 'DGX_NAME="DGX Spark"\nDGX_SWBUILD_VERSION="7.2.3"\n'}
    detected = detect(files, ARM)
    assert not detected.is_spark
    assert (detected.l4t, detected.jetpack_package) == (None, None)
    assert [finding.code for finding in detected.findings] == ["dgx_release_ignored"]


def test_a_tegra_device_tree_goes_before_the_gpu_name():
    detected = detect({TREE + "compatible": "nvidia,tegra264\0"}, ARM | {ROW: "NVIDIA GB10\n"})
    assert detected.is_tegra
    assert not detected.is_spark


@pytest.mark.parametrize(
    ("free", "available", "cache"),
    [(85, 797, False), (3100, 107700, True), (27160, 57679, True), (6000, 7000, False)],
)
def test_page_cache_is_said_as_such(free, available, cache):
    text = (
        f"MemTotal: 200000000 kB\nMemFree: {free * 1024} kB\nMemAvailable: {available * 1024} kB\n"
    )
    codes = [finding.code for finding in detect({"/proc/meminfo": text}).findings]
    assert codes == (["page_cache"] if cache else [])


PATHS = [
    RELEASE,
    TREE + "model",
    TREE + "compatible",
    "/proc/device-tree/nvidia,dtsfilename",
    "/sys/devices/soc0/family",
    "/etc/nv_boot_control.conf",
    "/boot/extlinux/extlinux.conf",
    "/proc/meminfo",
    "/etc/dgx-release",
    "/etc/os-release",
    "/sys/class/dmi/id/product_name",
]
COMMANDS = [
    "uname -m",
    "uname -r",
    ROW,
    "nvidia-smi -L",
    "dpkg-query -W nvidia-l4t-core",
    "dpkg-query -W nvidia-jetpack",
    "nvpmodel -q",
    "docker info --format {{json .}}",
    "eeprom part number",
]
FRAGMENTS = st.sampled_from(
    [
        "aarch64",
        "x86_64",
        "# R36 (release), REVISION: 4.3",
        "# R999 (release), REVISION: 999.999",
        "nvidia,p3767-0000",
        "+p3701-0005",
        "p3834-9999-super",
        "tegra234",
        "tegra99x",
        "MemTotal: 16000000 kB\n",
        "MemAvailable: 99999999999999 kB\n",
        "TNSPEC 3767-300-0005-W.1-1-0-x-\n",
        "TEGRA_CHIPID 0xffff\n",
        "NVIDIA GB10",
        "Orin (nvgpu)",
        "699-13767-0001",
        "5.15.148-tegra",
        "NVIDIA Jetson Orin Nano",
        "nvidia-l4t-core 36.4.3-1",
        "NV Power Mode: ",
        "\0",
        "\n",
        "\u0663\u0664",
        "9" * 30,
    ]
)
GARBAGE = st.one_of(st.text(max_size=60), st.lists(FRAGMENTS, max_size=6).map("".join))


@settings(max_examples=300, deadline=None)
@given(
    files=st.dictionaries(st.sampled_from(PATHS), GARBAGE),
    commands=st.dictionaries(st.sampled_from(COMMANDS), GARBAGE),
    assumed=st.one_of(st.none(), st.text(max_size=12), st.sampled_from(["36.4.3", "39", "r38.4"])),
)
def test_garbage_is_understood_or_refused(files, commands, assumed, catalog):
    detected = detect(files, commands)
    assert detect(files, commands) == detected
    device, error = outcome(detected, catalog, assumed)
    if error is not None:
        assert error.status in (2, 4)
        assert error.hint
    if device is not None:
        assert device.memory_mib == device.available_mib + device.os_reserve_mib
        assert device.available_mib >= 0
        assert device.family != "generic" or not detected.is_tegra
