"""The command line is the seeds' one; the configuration file says the same and never the key."""

import itertools
import json
from pathlib import Path

import pytest

from speccompose.device.stream import Endpoint
from speccompose.measure.aiperf_job import Job, command_words, config_text

JOB = Job(
    endpoint=Endpoint("127.0.0.1", 8000, "nvidia/model"),
    kind="speed_bench_writing",
    file=Path("/run/qualitative.jsonl"),
    conversations=80,
    expected=112,
    concurrency=1,
    tokenizer=Path("/run/tokenizer"),
    folder=Path("/run"),
)


def options(job):
    return dict(itertools.pairwise(command_words(job)))


def test_the_command_is_the_tutorials():
    """`aiperf profile` as in NVIDIA's tutorial, one category with its 80 conversations."""
    found = options(JOB)
    assert command_words(JOB)[0] == "profile"
    assert "--streaming" in command_words(JOB)
    wanted = {
        "--model": "nvidia/model",
        "--endpoint-type": "chat",
        "--url": "http://127.0.0.1:8000",
        "--custom-dataset-type": "speed_bench_writing",
        "--input-file": "/run/qualitative.jsonl",
        "--server-metrics": "http://127.0.0.1:8000/metrics",
        "--num-conversations": "80",
        "--osl": "4096",
        "--concurrency": "1",
        "--output-artifact-dir": "/run",
    }
    assert {key: found.get(key) for key in wanted} == wanted


def test_requests_take_the_place_of_conversations():
    found = options(JOB._replace(requests=200))
    assert found["--request-count"] == "200"
    assert "--num-conversations" not in found


def test_sampling_is_left_to_the_server():
    words = " ".join(command_words(JOB))
    assert not any(word in words for word in ("temperature", "top_p", "top_k", "extra-inputs"))


def test_a_depth_per_request_goes_with_each():
    found = options(JOB._replace(draft_tokens=3))
    assert json.loads(found["--extra-inputs"]) == {"speculative.n_max": 3}


def test_an_address_of_six_is_put_in_brackets():
    job = JOB._replace(endpoint=JOB.endpoint._replace(host="::1"))
    assert options(job)["--url"] == "http://[::1]:8000"


KEYED = JOB._replace(endpoint=JOB.endpoint._replace(key="top-secret-key"), draft_tokens=2)


def test_a_key_stands_in_no_argument_and_no_file():
    assert command_words(KEYED) == ["profile", "--config", "/run/aiperf.yaml"]
    assert "top-secret-key" not in config_text(KEYED)
    assert json.loads(config_text(KEYED))["benchmark"]["endpoint"]["api_key"] == (
        "${SPECCOMPOSE_AIPERF_KEY}"
    )


@pytest.mark.parametrize("requests", [None, 200])
def test_the_configuration_says_what_the_command_line_says(requests):
    body = json.loads(config_text(KEYED._replace(requests=requests)))["benchmark"]
    said = options(KEYED._replace(endpoint=JOB.endpoint, requests=requests))
    (phase,), (data,) = body["phases"], body["datasets"]
    amount = phase.get("requests") if requests else phase.get("sessions")
    found = {
        "--model": body["models"]["items"][0]["name"],
        "--url": body["endpoint"]["urls"][0],
        "--endpoint-type": body["endpoint"]["type"],
        "--custom-dataset-type": data["format"],
        "--input-file": data["path"],
        "--osl": str(data["osl"]["mean"]),
        "--request-count" if requests else "--num-conversations": str(amount),
        "--concurrency": str(phase["concurrency"]),
        "--extra-inputs": json.dumps(body["endpoint"]["extra"]),
        "--tokenizer": body["tokenizer"]["name"],
        "--connection-reuse-strategy": body["endpoint"]["connection_reuse"],
        "--request-timeout-seconds": f"{body['endpoint']['timeout']:g}",
        "--output-artifact-dir": body["artifacts"]["dir"],
        "--server-metrics": body["server_metrics"]["urls"][0],
        "--ui": body["runtime"]["ui"],
    }
    assert {key: said.get(key) for key in found} == found
    assert body["endpoint"]["streaming"] is body["endpoint"]["use_server_token_count"] is True
    assert body["gpu_telemetry"]["enabled"] is False


def test_time_limits_grow_with_what_is_asked():
    assert JOB.request_timeout_s > 4096
    assert JOB.timeout_s > 112 * JOB.request_timeout_s
    assert JOB._replace(concurrency=8).timeout_s < JOB.timeout_s / 7
