"""What identifies one machine leaves the facts; what tells the board apart stays."""

import json

import pytest

from speccompose.catalog.serials import remove_serial_numbers
from speccompose.vocab.facts import RawFacts


def cleaned(text: str) -> str:
    return remove_serial_numbers(RawFacts(origin="t", files={"/x": text})).files["/x"]


@pytest.mark.parametrize(
    "path",
    [
        "/sys/firmware/devicetree/base/serial-number",
        "/sys/class/dmi/id/product_serial",
        "/sys/class/dmi/id/board_serial",
        "/sys/class/dmi/id/product_uuid",
        "/sys/devices/soc0/serial_number",
        "/etc/machine-id",
    ],
)
def test_files_that_are_an_identity_go(path: str) -> None:
    facts = RawFacts(origin="t", files={path: "1421221012345\n", "/etc/os-release": "ID=ubuntu\n"})
    assert remove_serial_numbers(facts).files == {"/etc/os-release": "ID=ubuntu\n"}


def test_dgx_release_loses_its_serial_alone() -> None:
    text = 'DGX_NAME="DGX Spark"\nDGX_SERIAL_NUMBER="1660225000123"\nDGX_OTA_VERSION="7.2.3"\n'
    assert cleaned(text) == 'DGX_NAME="DGX Spark"\nDGX_OTA_VERSION="7.2.3"\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hardware\t: x\nSerial\t\t: 0421221012345\n", "Hardware\t: x\n"),
        ("    Serial Number    : N/A 12\n    GPU UUID   : GPU-1\nName: a", "Name: a"),
        ("a androidboot.serialno=0421 b=c\n", "a androidboot.serialno= b=c\n"),
        ("root=PARTUUID=11-22 quiet", "root=PARTUUID= quiet"),
        ("GPU 0: Orin (nvgpu) (UUID: 54e4-11)\n", "GPU 0: Orin (nvgpu) (UUID: )\n"),
    ],
)
def test_lines_and_values_go(text: str, left: str) -> None:
    assert cleaned(text) == left


def test_json_output_stays_json() -> None:
    text = json.dumps({"Name": "orin", "SerialNumber": "142", "x": {"uuid": "GPU-1"}})
    assert json.loads(cleaned(text)) == {"Name": "orin", "SerialNumber": "", "x": {"uuid": ""}}


@pytest.mark.parametrize(
    "text",
    [
        "# R36 (release), REVISION: 4.7, GCID: 42132812, BOARD: generic, EABI: aarch64\n",
        "TNSPEC 3767-300-0005-W.1-1-0-jetson-orin-nano-devkit-super-\n",
        "nvidia,p3768-0000+p3767-0005-super\0nvidia,tegra234\0",
        "699-13767-0000-300 L.3",
        "console=ttyS0,115200n8 earlycon\n",
    ],
)
def test_board_facts_stay(text: str) -> None:
    assert cleaned(text) == text


def test_long_lines_cost_linear_time() -> None:
    text = " " * 200_000 + "serial" * 50_000
    assert cleaned(text) == text
