"""`detect`: the board as text and JSON, and a saved capture that detects the same again."""

import msgspec
import pytest

from speccompose.catalog.facts_file import read_facts
from speccompose.report.device_text import DetectDocument
from tests.cli.harness import FACTS, assert_refusal_shape, facts

CAPTURES = sorted(path.stem for path in FACTS.glob("*.yaml"))
SERIAL = "1423024098765"


@pytest.mark.parametrize("name", CAPTURES)
def test_every_capture_as_json(cli, name):
    answer = cli("detect", *facts(name), "--json")
    assert answer.status in (0, 4)
    document = answer.json
    assert list(document) == ["device", "findings"]
    msgspec.convert(document, DetectDocument)
    errors = [item for item in document["findings"] if item["severity"] == "error"]
    assert len(errors) == (answer.status == 4)
    if answer.status == 4:
        assert_refusal_shape(answer.err)
    else:
        assert document["device"]["id"]


@pytest.mark.parametrize("name", ["d-01", "d-05", "d-07", "d-08", "m-03", "generic-x86-64"])
def test_the_page_shows_what_is_known(cli, name):
    answer = cli("detect", *facts(name))
    device = cli("detect", *facts(name), "--json").json["device"]
    wanted = [device["id"], device["name"], device["soc"], str(device["memory_mib"])]
    assert [text for text in wanted if text not in answer.out] == []
    assert (device["l4t"] or "") in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []


def test_save_round_trip_without_serials(cli):
    text = (FACTS / "d-02.yaml").read_text()
    more = (
        f'  /sys/firmware/devicetree/base/serial-number: "{SERIAL}\\0"\n'
        f'  /etc/dgx-release: "DGX_SERIAL_NUMBER={SERIAL}\\n"\n'
    )
    (cli.here / "in.yaml").write_text(text.replace("files:\n", "files:\n" + more))
    first = cli("detect", "--facts", "in.yaml", "--save", "out.yaml", "--json")
    assert first.status == 0
    saved = (cli.here / "out.yaml").read_text()
    assert SERIAL not in saved
    assert cli("detect", "--facts", "out.yaml", "--json").json["device"] == {
        **first.json["device"],
        "evidence": cli("detect", "--facts", "out.yaml", "--json").json["device"]["evidence"],
    }
    cli("detect", "--facts", "out.yaml", "--save", "again.yaml")
    assert (cli.here / "again.yaml").read_text() == saved
    assert cli.written() == ["again.yaml", "in.yaml", "out.yaml"]


def test_a_refused_board_is_saved_all_the_same(cli):
    """Whoever reports an unknown board needs the capture most."""
    answer = cli("detect", *facts("d-09-orin"), "--save", "out.yaml")
    assert answer.status == 4
    assert read_facts((cli.here / "out.yaml").read_text(), "out.yaml").commands


def test_save_into_a_folder_that_is_not_there(cli):
    answer = cli("detect", *facts("d-01"), "--save", "no/out.yaml", "--json")
    assert answer.status == 2
    assert answer.json["findings"][0]["code"] == "save_failed"
    assert cli.written() == []


def test_this_machine_or_a_copy_of_it(cli):
    root = cli.here / "root"
    (root / "etc").mkdir(parents=True)
    release = "# R38 (release), REVISION: 2.0, GCID: 1, BOARD: generic, EABI: aarch64\n"
    (root / "etc" / "nv_tegra_release").write_text(release)
    (root / "speccompose-commands.yaml").write_text(
        'uname -m: "aarch64\\n"\n'
        'nvidia-smi --query-gpu=name,memory.total --format=csv,noheader: "NVIDIA Thor, [N/A]\\n"\n'
    )
    (root / "proc").mkdir()
    (root / "proc" / "meminfo").write_text(
        "MemTotal: 128790528 kB\nMemFree: 100352000 kB\nMemAvailable: 120832000 kB\n"
    )
    device = cli("detect", "--root", "root", "--json").json["device"]
    assert (device["family"], device["l4t"]) == ("thor", "38.2.0")
    here = cli("detect", "--json")
    assert here.json["device"]["family"] == "generic" or here.status in (0, 4)


def test_two_boards(cli):
    answer = cli("detect", "--root", "/", "--facts", "x", "--json")
    assert answer.status == 2
    assert answer.json["findings"][0]["code"] == "two_boards"


def test_assumed_l4t_is_recorded(cli):
    answer = cli("detect", *facts("i-02-no-release"), "--assume-l4t", "38.4.0", "--json")
    assert answer.json["device"]["l4t"] == "38.4.0"
