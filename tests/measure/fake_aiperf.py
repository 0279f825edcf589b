"""A stand-in for AIPerf where a test must know what it does: it really asks, and writes exports.

Takes the command line, or the configuration file, that measure/aiperf_job.py writes; its exports
have the form of the recorded ones (aiperf_exports/). What it does wrong stands in `aiperf.json`
beside it. The real AIPerf is tested in tests/aiperf.
"""

import http.client
import itertools
import json
import os
import signal
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OPTIONS = {
    "--model": "model",
    "--url": "url",
    "--custom-dataset-type": "kind",
    "--input-file": "file",
    "--num-conversations": "sessions",
    "--request-count": "requests",
    "--osl": "osl",
    "--concurrency": "concurrency",
    "--tokenizer": "tokenizer",
    "--output-artifact-dir": "folder",
}


def install(folder: Path, *, version: str = "0.13.0", **wrong: object) -> Path:
    """Put an executable `aiperf` into a folder; returns the folder.

    ``wrong``: crash_after=N requests, die_after=N (by a signal), hang, keep=N records of the last
    run, cut=(file, bytes), without=file, cancelled, incomplete. ``told``: speeds to tell in place
    of the measured ones, as {"plain" or "drafting": {concurrency: tokens/s}}: whether the server
    drafts, its counters say.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "aiperf"
    root = Path(__file__).resolve().parent.parent.parent
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        "from tests.measure.fake_aiperf import main\nmain()\n"
    )
    program.chmod(0o755)
    (folder / "aiperf.json").write_text(json.dumps({"version": version, **wrong}))
    return folder


def main() -> None:
    """Behave as AIPerf does."""
    script = json.loads(Path(sys.argv[0]).with_name("aiperf.json").read_text())
    if sys.argv[1:] == ["--version"]:
        print(script["version"])
        sys.exit(script.get("version_status", 0))
    if sys.argv[1] == "speed-bench-report":
        report(sys.argv[2:], script)
    given = read_config(sys.argv[3]) if sys.argv[2] == "--config" else read_words(sys.argv[2:])
    Path(given["folder"], "seen.json").write_text(
        json.dumps({"argv": sys.argv[1:], "environment": dict(os.environ), "given": given})
    )
    if script.get("hang"):
        time.sleep(60)
    Run(given, script).work()


def read_words(words: list[str]) -> dict:
    found: dict = {"key": None}
    for word, following in itertools.pairwise([*words, ""]):
        if word in OPTIONS:
            found[OPTIONS[word]] = following
    return found


def read_config(path: str) -> dict:
    body = json.loads(Path(path).read_text())["benchmark"]
    name = body["endpoint"]["api_key"].removeprefix("${").removesuffix("}")
    (phase,), (data,) = body["phases"], body["datasets"]
    return {
        "key": os.environ[name],
        "model": body["models"]["items"][0]["name"],
        "url": body["endpoint"]["urls"][0],
        "kind": data["format"],
        "file": data["path"],
        "osl": data["osl"]["mean"],
        "concurrency": phase["concurrency"],
        "folder": body["artifacts"]["dir"],
        **{key: phase[key] for key in ("sessions", "requests") if key in phase},
    }


class Run:
    """One run: conversations shared out among clients, their turns one after the other."""

    def __init__(self, given: dict, script: dict) -> None:
        self.given, self.script = given, script
        self.folder = Path(given["folder"])
        self.left = int(given.get("requests", 1_000_000))
        self.lock = threading.Lock()
        self.records: list[dict] = []

    def work(self) -> None:
        before = self.counters()
        began = time.time_ns()
        rows = [json.loads(line) for line in Path(self.given["file"]).read_text().splitlines()]
        with ThreadPoolExecutor(int(self.given["concurrency"])) as clients:
            list(clients.map(self.play, rows))
        self.write((time.time_ns() - began) / 1e9, before)

    def play(self, row: dict) -> None:
        turns = [turn.get("text") or turn.get("content") for turn in said_by(row)]
        said: list[dict] = []
        for turn in turns:
            with self.lock:
                if self.left < 1:
                    return
                self.left -= 1
            said.append({"role": "user", "content": turn})
            self.records.append(self.ask(row, said))
            if len(self.records) == self.script.get("crash_after"):
                self.write_records()
                print("10:00:00 ERROR    everything fell over (system_controller.py:1)", flush=True)
                os._exit(1)
            if len(self.records) == self.script.get("die_after"):
                self.write_records()
                os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, row: dict, messages: list[dict]) -> dict:
        began, clock = time.time_ns(), time.perf_counter()
        about = {
            "conversation_id": row.get("question_id") or row["session_id"],
            "request_start_ns": began,
            "benchmark_phase": "profiling",
            "was_cancelled": False,
        }
        times, tokens = [], 0
        try:
            for event in self.events(messages):
                if event.get("choices") and event["choices"][0]["delta"].get("content"):
                    times.append(time.perf_counter() - clock)
                tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
        except (OSError, http.client.HTTPException) as error:
            told = {"type": type(error).__name__, "message": str(error)}
            return {"metadata": about, "metrics": {}, "error": told}
        if not times:
            told = {"type": "IncompleteRead", "message": "no token came"}
            return {"metadata": about, "metrics": {}, "error": told}
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        values = {
            "time_to_first_token": (times[0] * 1e3, "ms"),
            "request_latency": (times[-1] * 1e3, "ms"),
            "output_sequence_length": (tokens, "tokens"),
            "inter_chunk_latency": ([gap * 1e3 for gap in gaps], "ms"),
        }
        return {
            "metadata": about,
            "metrics": {name: {"value": v, "unit": unit} for name, (v, unit) in values.items()},
        }

    def events(self, messages: list[dict]):
        body = {
            "model": self.given["model"],
            "messages": messages,
            "max_tokens": int(self.given["osl"]),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        request = urllib.request.Request(
            self.given["url"] + "/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", **self.authorization()},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            for line in answer:
                payload = line.removeprefix(b"data: ").strip()
                if payload and payload != b"[DONE]":
                    yield json.loads(payload)

    def authorization(self) -> dict[str, str]:
        key = self.given["key"]
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def counters(self) -> dict[str, float] | None:
        """Without the key, as AIPerf asks."""
        try:
            with urllib.request.urlopen(self.given["url"] + "/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line}

    def write(self, seconds: float, before: dict[str, float] | None) -> None:
        seconds = self.pretend(before) or seconds
        self.write_records()
        good = [record for record in self.records if "error" not in record]
        tokens = sum(record["metrics"]["output_sequence_length"]["value"] for record in good)
        summary = {
            "schema_version": "1.4",
            "request_count": {"unit": "requests", "avg": float(len(good))},
            "total_osl": {"unit": "tokens", "avg": float(tokens)},
            "output_token_throughput": {"unit": "tokens/sec", "avg": tokens / seconds},
            "was_cancelled": bool(self.script.get("cancelled")),
            "is_complete": not self.script.get("incomplete"),
            "error_summary": [],
            "input_config": {"datasets": [{"format": self.given["kind"]}]},
        }
        (self.folder / "profile_export_aiperf.json").write_text(json.dumps(summary))
        after = self.counters()
        if before is not None and after is not None:
            metrics = series_of({name: after[name] - before.get(name, 0.0) for name in after})
            (self.folder / "server_metrics_export.json").write_text(json.dumps(metrics))
        self.damage()

    def pretend(self, before: dict[str, float] | None) -> float | None:
        """Make records that tell of a scripted speed; how long that would have taken."""
        if "told" not in self.script:
            return None
        after = self.counters()
        drafts = sum(after[name] - before[name] for name in after if "num_drafts" in name)
        clients = self.given["concurrency"]
        rate = self.script["told"]["drafting" if drafts else "plain"][str(clients)]
        tokens = 0
        for record in self.records:
            metrics = record["metrics"]
            count = metrics["output_sequence_length"]["value"]
            each_ms = 1e3 * int(clients) / rate
            metrics["time_to_first_token"]["value"] = each_ms
            metrics["request_latency"]["value"] = each_ms * count
            metrics["inter_chunk_latency"]["value"] = [each_ms] * (count - 1)
            tokens += count
        return tokens / rate

    def write_records(self) -> None:
        kept = self.records[: self.script.get("keep", len(self.records))]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        (self.folder / "profile_export.jsonl").write_text(text)

    def damage(self) -> None:
        if cut := self.script.get("cut"):
            path = self.folder / cut[0]
            path.write_bytes(path.read_bytes()[: cut[1]])
        if name := self.script.get("without"):
            (self.folder / name).unlink()


def said_by(row: dict) -> list[dict]:
    turns = row.get("turns") or row["messages"]
    return [turn for turn in turns if turn.get("role", "user") == "user"]


def series_of(deltas: dict[str, float]) -> dict:
    """Counters as AIPerf exports them: without _total, labels apart."""
    metrics: dict[str, dict] = {}
    for name, delta in deltas.items():
        bare, _, labels = name.removesuffix("}").partition("{")
        pairs = [pair.split("=") for pair in labels.split(",") if pair]
        one = {"labels": {k: v.strip('"') for k, v in pairs}, "stats": {"total": delta}}
        metrics.setdefault(bare.removesuffix("_total"), {"series": []})["series"].append(one)
    return {"metrics": metrics}


def report(words: list[str], script: dict) -> None:
    """`speed-bench-report`: a CSV of the last run of each category."""
    values, output = {}, None
    for word, following in itertools.pairwise([*words, ""]):
        output = following if word == "--output" else output
        path = Path(word, "profile_export_aiperf.json")
        if path.exists():
            body = json.loads(path.read_text())
            kind = body["input_config"]["datasets"][0]["format"]
            values[kind] = body["output_token_throughput"]["avg"]
    values = {kind: value for kind, value in values.items() if kind.startswith("speed_bench_")}
    if not values or script.get("report_fails"):
        print("Error: no SPEED-Bench results extracted.", file=sys.stderr)
        sys.exit(1)
    names = ",".join(kind.removeprefix("speed_bench_") for kind in values)
    figures = ",".join(f"{value:.2f}" for value in values.values())
    Path(output).write_text(f"Model,{names},Overall\nstub-model,{figures},\n")
    sys.exit(0)
