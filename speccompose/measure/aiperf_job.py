"""One run that is wanted of AIPerf becomes its command line, or its configuration file.

Layer: measure. Pure. The options are those of NVIDIA's tutorial for SPEED-Bench on Jetson: every
conversation once, or exactly so many requests; a longest output; no sampling options, so that the
model builder's own hold. Beside them stand four that make two arms comparable and a board
independent of the network; each says why.
"""

import json
from pathlib import Path
from typing import NamedTuple

from speccompose.device.stream import DRAFT_TOKENS, Endpoint

OUTPUT_TOKENS = 4096
"""Longest answer unless the user says otherwise; a model may stop before."""

KEY_VARIABLE = "SPECCOMPOSE_AIPERF_KEY"
"""In which variable the API key is handed over; the configuration file only names it."""

_REUSE = "never"
"""A connection per request: llama-server closes a kept one after some requests, and AIPerf counts
what it loses by that as a failed request (seen with 0.13 and build 11669)."""

_SLOWEST_TOKEN_S = 1.0
_FIRST_TOKEN_S = 300.0
_START_S = 600.0


class Job(NamedTuple):
    """What one run asks, of whom, and where its files go.

    ``kind`` is AIPerf's custom dataset type. ``requests``: exactly so many instead of every
    conversation once. ``expected``: requests that it takes. ``draft_tokens``: the depth, where the
    server takes it per request.
    """

    endpoint: Endpoint
    kind: str
    file: Path
    conversations: int
    expected: int
    concurrency: int
    tokenizer: Path
    folder: Path
    requests: int | None = None
    output_tokens: int = OUTPUT_TOKENS
    draft_tokens: int | None = None

    @property
    def url(self) -> str:
        """The server's address."""
        host = f"[{self.endpoint.host}]" if ":" in self.endpoint.host else self.endpoint.host
        return f"http://{host}:{self.endpoint.port}"

    @property
    def request_timeout_s(self) -> float:
        """After this a request has failed: a token a second is slower than anybody serves."""
        return _FIRST_TOKEN_S + self.output_tokens * _SLOWEST_TOKEN_S

    @property
    def timeout_s(self) -> float:
        """After this the whole run has failed."""
        rounds = -(-self.expected // self.concurrency)
        return _START_S + rounds * self.request_timeout_s


def command_words(job: Job) -> list[str]:
    """Everything after ``aiperf``. A server with a key is described in ``config_text`` instead:
    an argument list is public.
    """
    if job.endpoint.key is not None:
        return ["profile", "--config", str(config_file(job))]
    amount = (
        ("--num-conversations", str(job.conversations))
        if job.requests is None
        else ("--request-count", str(job.requests))
    )
    depth = () if job.draft_tokens is None else ("--extra-inputs", json.dumps(_extra(job)))
    return [
        "profile",
        *("--model", job.endpoint.model),
        *("--endpoint-type", "chat"),
        "--streaming",
        *("--url", job.url),
        *("--custom-dataset-type", job.kind),
        *("--input-file", str(job.file)),
        *("--server-metrics", job.url + "/metrics"),
        *amount,
        *("--osl", str(job.output_tokens)),
        *("--concurrency", str(job.concurrency)),
        *depth,
        "--use-server-token-count",  # both arms by the server's own count, whatever the tokenizer
        *("--tokenizer", str(job.tokenizer)),  # a folder: nothing is downloaded
        *("--connection-reuse-strategy", _REUSE),
        *("--request-timeout-seconds", f"{job.request_timeout_s:g}"),
        "--no-gpu-telemetry",  # a Jetson has no DCGM
        *("--output-artifact-dir", str(job.folder)),
        *("--ui", "none"),
    ]


def config_file(job: Job) -> Path:
    """Where the configuration of a run stands that has one."""
    return job.folder / "aiperf.yaml"


def config_text(job: Job) -> str:
    """The same run as a configuration file (JSON, which is YAML): 0.11 drops options beside it."""
    amount = {"sessions": job.conversations} if job.requests is None else {"requests": job.requests}
    endpoint: dict[str, object] = {
        "urls": [job.url],
        "type": "chat",
        "streaming": True,
        "timeout": job.request_timeout_s,
        "connection_reuse": _REUSE,
        "use_server_token_count": True,
        "api_key": "${" + KEY_VARIABLE + "}",
    }
    if job.draft_tokens is not None:
        endpoint["extra"] = _extra(job)
    benchmark = {
        "models": {"items": [{"name": job.endpoint.model}]},
        "endpoint": endpoint,
        "datasets": [
            {
                "name": "main",
                "type": "file",
                "path": str(job.file),
                "format": job.kind,
                "osl": {"mean": job.output_tokens},
            }
        ],
        "phases": [
            {
                "name": "profiling",
                "type": "concurrency",
                "concurrency": job.concurrency,
                **amount,
            }
        ],
        "artifacts": {"dir": str(job.folder)},
        "tokenizer": {"name": str(job.tokenizer)},
        "gpu_telemetry": {"enabled": False},
        "server_metrics": {"enabled": True, "urls": [job.url + "/metrics"]},
        "runtime": {"ui": "none"},
    }
    return json.dumps({"benchmark": benchmark}, indent=2) + "\n"


def _extra(job: Job) -> dict[str, int | None]:
    return {DRAFT_TOKENS: job.draft_tokens}
