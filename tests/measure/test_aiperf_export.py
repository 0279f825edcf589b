"""Recorded exports of the real AIPerf are read; whatever is cut off or contradicts is a fault."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speccompose.measure.aiperf_export import read_exports
from tests.measure import aiperf_recorded as recorded

FILES = ("profile_export.jsonl", "profile_export_aiperf.json", "server_metrics_export.json")


def read(folder, *, expected=recorded.REQUESTS, engine="llama.cpp", categories=None):
    return read_exports(
        folder,
        concurrency=recorded.CLIENTS,
        expected=expected,
        engine=engine,
        categories=categories or {},
    )


def changed(folder, file, change):
    path = folder / file
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))
    return folder


@pytest.mark.parametrize("name", recorded.ALL)
def test_the_figures_are_those_that_aiperf_tells(name):
    told = recorded.summary(name)
    found = read(recorded.FOLDER / name, engine=recorded.engine_of(name))
    assert found.faults == ()
    assert len(found.load.good) == recorded.REQUESTS
    assert found.load.generated == recorded.REQUESTS * recorded.TOKENS
    assert found.load.output_tokens_s == pytest.approx(told["output_token_throughput"]["avg"])
    for share, key in ((0.5, "p50"), (0.9, "p90")):
        assert found.load.ttft_ms(share) == pytest.approx(
            told["time_to_first_token"][key], rel=1e-4
        )
    whole = sorted(found.load.e2es_ms)
    assert whole[0] == pytest.approx(told["request_latency"]["min"], rel=1e-4)
    assert whole[-1] == pytest.approx(told["request_latency"]["max"], rel=1e-4)
    assert sum(found.load.gaps_ms) == pytest.approx(told["inter_chunk_latency"]["sum"], rel=1e-6)


@pytest.mark.parametrize("name", recorded.ALL)
def test_tpot_is_aiperfs_inter_token_latency(name):
    """Where an answer came in more than one piece; AIPerf counts the others as 0 ms."""
    told = recorded.summary(name)["inter_token_latency"]
    found = read(recorded.FOLDER / name, engine=recorded.engine_of(name)).load
    assert max(found.tpots_ms) == pytest.approx(told["max"], rel=1e-4)
    assert sum(found.tpots_ms) == pytest.approx(told["sum"], rel=1e-4)


@pytest.mark.parametrize(
    ("name", "drafts", "accepted", "positions"),
    [
        ("llamacpp-0.11", 78, 101, (50, 27, 18, 6)),
        ("llamacpp-0.12", 78, 102, (47, 29, 16, 10)),
        ("llamacpp-0.13", 67, 116, (53, 32, 19, 12)),
        ("vllm-0.11", 141, 46, (41, 3, 2)),
        ("vllm-0.13", 123, 62, (50, 6, 6)),
    ],
)
def test_acceptance_comes_from_the_counters(name, drafts, accepted, positions):
    """AIPerf's own report has none for llama.cpp."""
    counted = read(recorded.FOLDER / name, engine=recorded.engine_of(name)).counted
    assert (counted.drafts, counted.accepted, counted.per_position) == (drafts, accepted, positions)
    assert counted.mean_accepted_length == pytest.approx(1 + accepted / drafts)


def test_counters_of_the_other_engine_are_not_taken():
    assert read(recorded.FOLDER / "vllm-0.13", engine="llama.cpp").counted is None


def test_samples_know_their_category():
    name = "llamacpp-0.13"
    found = read(recorded.FOLDER / name, categories=recorded.categories(name))
    assert {sample.category for sample in found.load.samples} == {"coding"}


@pytest.mark.parametrize("file", FILES)
@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_is_cut_off_anywhere_is_a_fault(tmp_path_factory, file, share):
    folder = recorded.copy_of("llamacpp-0.13", tmp_path_factory.mktemp("cut"))
    path = folder / file
    whole = path.read_bytes().rstrip()
    path.write_bytes(whole[: int(share * len(whole))])
    found = read(folder)
    assert found.faults
    assert all(len(fault) <= 300 for fault in found.faults)


@pytest.mark.parametrize("file", FILES[:2])
def test_a_file_that_is_missing_is_a_fault(tmp_path, file):
    folder = recorded.copy_of("llamacpp-0.13", tmp_path)
    (folder / file).unlink()
    assert any(f"AIPerf left no {file}" in fault for fault in read(folder).faults)


def test_an_empty_folder_is_two_faults(tmp_path):
    found = read(tmp_path)
    assert len(found.faults) == 2
    assert (found.load.output_tokens_s, found.counted) == (0.0, None)


def test_metrics_that_could_not_be_read_are_none(tmp_path):
    """llama-server shows its metrics to key holders only, and AIPerf asks without the key."""
    folder = recorded.copy_of("llamacpp-0.13", tmp_path)
    (folder / "server_metrics_export.json").unlink()
    found = read(folder)
    assert (found.counted, found.faults) == (None, ())


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (1, lambda body: body.update(was_cancelled=True), "AIPerf was cancelled"),
        (1, lambda body: body.update(is_complete=False), "not complete"),
        (1, lambda body: body.update(error_summary=[{"count": 2}]), "tells of errors"),
        (1, lambda body: body["request_count"].update(avg=7.0), "measured 7 requests of 8"),
        (1, lambda body: body["total_osl"].update(avg=400.0), "tells of 400 tokens"),
        (1, lambda body: body["total_osl"].update(avg=0.0), "wanted more than 0 tokens"),
        (1, lambda body: body.pop("total_osl"), "has no total_osl"),
        (1, lambda body: body["output_token_throughput"].update(unit="tokens/min"), "tokens/min"),
        (1, lambda body: body["output_token_throughput"].update(avg=float("nan")), "nan"),
        (1, lambda body: body["output_token_throughput"].update(avg="9"), "wanted more than 0"),
        (2, lambda body: body.pop("metrics"), "holds no metrics"),
        (
            2,
            lambda body: body["metrics"]["llamacpp:spec_decode_num_drafts"].pop("series"),
            "has no series",
        ),
        (
            2,
            lambda body: body["metrics"]["llamacpp:spec_decode_num_drafts"]["series"][0][
                "stats"
            ].pop("total"),
            "has no total",
        ),
    ],
)
def test_what_does_not_add_up_is_a_fault(tmp_path, file, change, said):
    folder = recorded.copy_of("llamacpp-0.13", tmp_path)
    faults = read(changed(folder, FILES[file], change)).faults
    assert any(said in fault for fault in faults), faults


def test_a_run_of_fewer_requests_than_wanted_is_a_fault():
    assert read(recorded.FOLDER / "llamacpp-0.12", expected=9).faults == (
        "AIPerf measured 8 requests of 9",
    )


def test_exports_that_are_no_objects_are_faults(tmp_path):
    for file in FILES:
        (tmp_path / file).write_text("[" * 100_000)
    assert len(read(tmp_path).faults) == 3
