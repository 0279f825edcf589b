"""Records become samples; one that does not say what it should is a fault, never a fast request."""

import copy
import json

import pytest

from speccompose.measure.aiperf_records import read_records
from tests.measure import aiperf_recorded as recorded

FIRST = json.loads(
    (recorded.FOLDER / "llamacpp-0.13" / "profile_export.jsonl").read_text().splitlines()[0]
)


def read(tmp_path, *bodies, categories=None):
    path = tmp_path / "profile_export.jsonl"
    path.write_text("".join(f"{json.dumps(body)}\n" for body in bodies))
    return read_records(path, categories or {})


def record(**changes):
    """A real record with other metrics."""
    body = copy.deepcopy(FIRST)
    for name, value in changes.items():
        if value is None:
            del body["metrics"][name]
        else:
            body["metrics"][name].update(value)
    return body


def test_a_record_is_the_sample_of_a_request(tmp_path):
    body = record(
        time_to_first_token={"value": 40.0},
        request_latency={"value": 270.0},
        output_sequence_length={"value": 24},
        inter_chunk_latency={"value": [0.0, 30.0, 200.0]},
    )
    (sample,) = read(tmp_path, body).samples
    assert sample.ttft_s == pytest.approx(0.040, abs=1e-6)
    assert sample.e2e_s == pytest.approx(0.270, abs=1e-6)
    assert sample.tpot_s == pytest.approx(0.010, abs=1e-6)
    assert sample.gaps_s == pytest.approx([0.0, 0.030, 0.200])
    assert (sample.tokens, sample.error) == (24, None)


def test_an_answer_in_one_piece_has_no_time_per_token(tmp_path):
    body = record(
        time_to_first_token={"value": 40.0},
        request_latency={"value": 40.0},
        inter_chunk_latency=None,
    )
    (sample,) = read(tmp_path, body).samples
    assert (sample.tpot_s, sample.gaps_s) == (None, [])


def test_warm_up_requests_are_left_out(tmp_path):
    warm = copy.deepcopy(FIRST)
    warm["metadata"]["benchmark_phase"] = "warmup"
    assert len(read(tmp_path, warm, FIRST).samples) == 1


def test_samples_stand_in_the_order_in_which_they_began(tmp_path):
    later = copy.deepcopy(FIRST)
    later["metadata"]["request_start_ns"] += 5_000_000_000
    found = read(tmp_path, later, FIRST).samples
    assert found[1].started - found[0].started == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"type": "ServerDisconnectedError", "message": "gone"}, "ServerDisconnectedError: gone"),
        ({"code": 500, "type": "HTTP", "message": "out\nof  slots"}, "500: HTTP: out of slots"),
        ({}, "it failed without a word"),
        ("plain", "plain"),
    ],
)
def test_a_failed_request_is_an_error(tmp_path, error, said):
    body = {**copy.deepcopy(FIRST), "metrics": {}, "error": error}
    (sample,) = read(tmp_path, body).samples
    assert sample.error == said


def test_a_cancelled_request_is_an_error(tmp_path):
    body = copy.deepcopy(FIRST)
    body["metadata"]["was_cancelled"] = True
    assert read(tmp_path, body).samples[0].error == "AIPerf cancelled it"


def test_no_token_count_is_an_error(tmp_path):
    (sample,) = read(tmp_path, record(output_sequence_length=None)).samples
    assert "no usage" in sample.error


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "an object is wanted"),
        ({"metadata": {}}, "metadata and metrics"),
        (record(time_to_first_token=None), "time_to_first_token is missing"),
        (record(time_to_first_token={"unit": "fortnights"}), "fortnights"),
        (record(request_latency={"value": float("inf")}), "a number is wanted"),
        (record(request_latency={"value": True}), "a number is wanted"),
        (record(request_latency={"value": 0.001}), "the last after"),
        (record(output_sequence_length={"value": 0}), "0 tokens"),
        (record(inter_chunk_latency={"value": 3}), "a list is wanted"),
        (record(inter_chunk_latency={"value": ["x"]}), "a number is wanted"),
    ],
)
def test_a_record_that_says_something_else_is_a_fault(tmp_path, body, said):
    found = read(tmp_path, FIRST, body)
    assert len(found.samples) == 1
    assert found.faults[0].startswith("profile_export.jsonl:2 ")
    assert said in found.faults[0]


def test_very_many_gaps_are_thinned_out_fairly(tmp_path):
    gaps = [float(number % 4) for number in range(60_000)]
    names = {str(number): None for number in range(4)}
    (sample,) = read(
        tmp_path, record(inter_chunk_latency={"value": gaps}), categories=names
    ).samples
    assert len(sample.gaps) == 5_000
    assert sum(sample.gaps_s) / 5_000 == pytest.approx(1.5e-3, rel=0.05)
