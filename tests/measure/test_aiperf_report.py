"""AIPerf's own throughput report: one for each arm or depth, of what is SPEED-Bench."""

import json
from pathlib import Path

from speccompose.measure.aiperf_program import find_aiperf
from speccompose.measure.aiperf_report import throughput_reports
from tests.measure.fake_aiperf import install


def program(tmp_path, **wrong):
    return find_aiperf(str(install(tmp_path / "bin", **wrong)), beside=Path("/nonexistent"))


def measured(folder, throughput, kind="speed_bench_coding"):
    folder.mkdir(parents=True)
    body = {
        "output_token_throughput": {"avg": throughput},
        "input_config": {"datasets": [{"format": kind}]},
    }
    (folder / "profile_export_aiperf.json").write_text(json.dumps(body))


def test_each_depth_has_its_own_of_the_last_repeat_alone(tmp_path):
    kept = tmp_path / "kept"
    for depth, base in (("depth-0", 100.0), ("depth-3", 200.0)):
        for level, repeat, more in ((1, 1, 1.0), (1, 2, 2.0), (1, 10, 3.0), (8, 1, 9.0)):
            measured(kept / depth / "aiperf" / f"c{level}-r{repeat}", base + more)
    found = throughput_reports(program(tmp_path), kept)
    assert [(each.group, each.fault) for each in found] == [("depth-0", None), ("depth-3", None)]
    assert [each.path.read_text().splitlines()[1] for each in found] == [
        "stub-model,103.00,",
        "stub-model,203.00,",
    ]


def test_arms_of_an_acceptance_are_named_as_they_are(tmp_path):
    for arm in ("baseline", "speculative"):
        measured(tmp_path / "kept/mark/aiperf" / arm / "c1-r1", 10.0)
    found = throughput_reports(program(tmp_path), tmp_path / "kept/mark")
    assert [each.group for each in found] == ["baseline", "speculative"]


def test_what_is_no_speed_bench_has_none(tmp_path):
    measured(tmp_path / "kept/mark/aiperf/baseline/c1-r1", 10.0, kind="multi_turn")
    assert throughput_reports(program(tmp_path), tmp_path / "kept") == ()


def test_a_report_that_fails_says_why(tmp_path):
    measured(tmp_path / "kept/mark/aiperf/baseline/c1-r1", 10.0)
    (found,) = throughput_reports(program(tmp_path, report_fails=True), tmp_path / "kept")
    assert found.fault == "Error: no SPEED-Bench results extracted."
    assert not found.path.exists()


def test_nothing_measured_nothing_reported(tmp_path):
    (tmp_path / "kept/depth-0/aiperf/c1-r1").mkdir(parents=True)
    assert throughput_reports(program(tmp_path), tmp_path / "kept") == ()
