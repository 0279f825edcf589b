"""A stack that serves is looked at more closely: on the GPU, drafting, and saying something.

Layer: device (standard library, Python 3.8). Each of it seldom, and only while nobody waits: the
GPU once per start, drafts once per window, the words only when drafts are accepted too well to be
true. What is found are notes; a stack that serves is never restarted for them.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import List, Optional, Tuple

from speccompose.device.answers import Completion, Server
from speccompose.device.contents import text_fault
from speccompose.device.counters import read_counters
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import DeviceError
from speccompose.device.paths import StackPaths
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports
from speccompose.device.prove import check_gpu
from speccompose.device.small_file import read_small_text
from speccompose.device.watch_file import Watched
from speccompose.device.watch_look import Look
from speccompose.device.watch_quality import Expected, Note, judge_drafts

ANSWER_S = 120.0
WORDS = 64
PROMPT = "Explain in plain words why the sky is blue in the day and red in the evening."
"""Nothing in it invites repetition."""

LEAST_ACCEPTED = 1.05
"""Rules section 6: what a stack without acceptance.json is held to."""

_DRAFT_CODES = ("not_speculating", "acceptance_low", "degenerate_output")


def look_deeper(
    now: Watched, found: Look, plan: Plan, server: Server, *, paths: StackPaths, ports: Ports
) -> Watched:
    """The same with what a closer look found."""
    container = found.container
    idle = not found.seen.activity.requests
    if container is not None and idle and now.checked != found.seen.start:
        fault = _gpu_fault(plan, container, server, ports)
        notes = _replaced(now.notes, ("not_on_gpu",), () if fault is None else (fault,))
        now = now._replace(checked=found.seen.start, notes=notes)
    return _drafts(now, found, plan, server, paths=paths, idle=idle)


def _drafts(
    now: Watched, found: Look, plan: Plan, server: Server, *, paths: StackPaths, idle: bool
) -> Watched:
    counters = None if found.metrics is None else read_counters(found.metrics, plan.engine)
    expected = expected_of(paths, plan)
    quality = judge_drafts(now.window, counters, found.seen.activity.generated, expected)
    if quality.notes is None:
        return now._replace(window=quality.window)
    notes = list(quality.notes)
    if quality.suspicious and idle:
        fault = _words_fault(plan, server)
        if fault is not None:
            notes.append(Note("degenerate_output", f"every draft is accepted, and {fault}"))
    elif quality.suspicious:
        return now  # asked when nobody waits; the window goes on until then
    return now._replace(
        window=quality.window, notes=_replaced(now.notes, _DRAFT_CODES, tuple(notes))
    )


def expected_of(paths: StackPaths, plan: Plan) -> Expected:
    """What the release's acceptance.json and the last acceptance here say."""
    rules = _object(paths.release(plan.digest) / "acceptance.json")
    least = rules.get("min_accepted_length")
    known = isinstance(least, (int, float)) and not isinstance(least, bool)
    return Expected(
        method=plan.method,
        min_accepted_length=float(str(least)) if known else LEAST_ACCEPTED,
        measured=measured_length(paths, plan.digest),
    )


def measured_length(paths: StackPaths, digest: str) -> Optional[float]:
    """Mean accepted length of the last acceptance of this very release; None without one."""
    try:
        folders = sorted((paths.home / "accept").iterdir(), reverse=True)
    except OSError:
        return None
    for folder in folders:
        body = _object(folder / "result.json")
        runs = body.get("runs")
        if not isinstance(runs, list) or not _is_of(body, digest):
            continue
        found = [_length(run) for run in runs if isinstance(run, dict)]
        lengths = [length for length in found if length is not None]
        if lengths:
            return float(median(lengths))
    return None


def _is_of(body: "dict[str, object]", digest: str) -> bool:
    """Whether a result counts, and is of this release."""
    subject = body.get("subject")
    measured = subject.get("plan") if isinstance(subject, dict) else None
    counts = body.get("outcome") != "invalid" and body.get("synthetic") is not True
    return counts and measured == digest


def _length(run: "dict[str, object]") -> Optional[float]:
    value = run.get("mean_accepted_length")
    if run.get("arm") != "speculative" or isinstance(value, bool):
        return None
    return float(value) if isinstance(value, (int, float)) else None


def _gpu_fault(
    plan: Plan, container: ContainerInfo, server: Server, ports: Ports
) -> Optional[Note]:
    def ask(tokens: int) -> Completion:
        return server.complete(plan.served_name, tokens, ANSWER_S)

    told: List[str] = []
    try:
        check_gpu(ports, plan, container, ask, told)
    except DeviceError as error:
        if error.code != "not_on_gpu":
            return None  # no answer in time: the next pass sees whether it still serves
        return Note(error.code, "; ".join([error.brief, *error.details]))
    return None


def _words_fault(plan: Plan, server: Server) -> Optional[str]:
    try:
        said = server.complete_prompt(plan.served_name, PROMPT, WORDS, ANSWER_S).text
    except DeviceError:
        return None
    return text_fault(said)


def _replaced(
    notes: Tuple[Note, ...], codes: Tuple[str, ...], new: Tuple[Note, ...]
) -> Tuple[Note, ...]:
    return tuple(note for note in notes if note.code not in codes) + new


def _object(path: Path) -> "dict[str, object]":
    """The JSON object in a file; empty when there is none."""
    try:
        body = json.loads(read_small_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
