"""What was measured is on the disk before the next run begins."""

import json

from speccompose.device.answer_reader import Sample
from speccompose.device.artifacts import Artifacts
from speccompose.device.conditions import Conditions
from speccompose.device.counters import Counters
from speccompose.device.load import Load
from speccompose.device.runs import Run
from speccompose.device.window import Window

CONDITIONS = Conditions("pmode:0000", (), (), (), 51.0)
SAMPLE = Sample(10.0, ((10.5, 1.0), (11.0, 3.0)), 11.0, 4, "text that is not kept")
WINDOW = Window(
    Run("speculative", 1, 1, 40.0, 166.7, 500.0, 2.5),
    Load(1, 1.0, 4.0, (SAMPLE,)),
    Counters(2, 4, 3, (2, 1)),
)


def test_one_line_per_run(tmp_path):
    artifacts = Artifacts(tmp_path / "a" / "b")
    artifacts.add_run(WINDOW, CONDITIONS)
    artifacts.add_run(WINDOW._replace(counted=None), CONDITIONS)
    lines = (tmp_path / "a" / "b" / "runs.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert first["arm"] == "speculative"
    assert first["mean_accepted_length"] == 2.5
    assert first["drafting"]["acceptance_by_position"] == [1.0, 0.5]
    assert first["conditions"]["hottest_c"] == 51.0
    assert first["samples"] == [[500.0, 166.667, 1000.0, 4, 2]]
    assert first["latency"]["ttft_ms"] == {"count": 1, "mean": 500.0, "quantiles": [500.0] * 21}
    assert second["drafting"] is None
    assert artifacts.fault is None


def test_result(tmp_path):
    artifacts = Artifacts(tmp_path)
    artifacts.finish({"outcome": "invalid"})
    artifacts.finish({"outcome": "accepted"})
    assert json.loads((tmp_path / "result.json").read_text()) == {"outcome": "accepted"}


def test_a_disk_that_takes_nothing_is_a_fault(tmp_path):
    (tmp_path / "file").write_text("")
    artifacts = Artifacts(tmp_path / "file" / "folder")
    artifacts.add_run(WINDOW, CONDITIONS)
    assert "cannot be kept" in artifacts.fault


def test_a_full_disk_is_a_fault(tmp_path):
    (tmp_path / "runs.jsonl").symlink_to("/dev/full")
    artifacts = Artifacts(tmp_path)
    artifacts.add_run(WINDOW, CONDITIONS)
    assert "No space left on device" in artifacts.fault


def test_without_a_folder_nothing_is_written(tmp_path):
    artifacts = Artifacts()
    artifacts.add_run(WINDOW, CONDITIONS)
    artifacts.finish({})
    assert artifacts.fault is None
