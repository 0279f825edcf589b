"""AIPerf as a runner: one order becomes one AIPerf run and the window that it measured.

Layer: measure. Takes the place of the native runner (device/runner.py) wherever that one is taken,
so warm-up, the engine's counters before and after, memory, conditions, the other arm and the
verdict are the same; only the load is AIPerf's.

    aiperf_runner(find_aiperf(path), dataset, root, asked=...).run(served, order) -> Window

Every run has a folder of its own below that of its arm or depth, ``c<concurrency>-r<repeat>``, with
what AIPerf read and wrote. After Ctrl-C or a crash it stays as it is.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from speccompose.device.command import TIMED_OUT, Completed
from speccompose.device.counters import Counters
from speccompose.device.dataset import Dataset
from speccompose.device.errors import USAGE, DeviceError
from speccompose.device.load import Load
from speccompose.device.redact import redact
from speccompose.device.runs import BASELINE
from speccompose.device.window import Order, Served, Window, full_pace, watch
from speccompose.measure.aiperf_export import Exported, read_exports
from speccompose.measure.aiperf_input import Given, dataset_kind, write_input, write_tokenizer
from speccompose.measure.aiperf_job import (
    KEY_VARIABLE,
    OUTPUT_TOKENS,
    Job,
    command_words,
    config_file,
    config_text,
)
from speccompose.measure.aiperf_program import AIPerf, last_words

AIPERF = "aiperf"


class Asked(NamedTuple):
    """What the user wants of AIPerf.

    ``requests``: exactly so many a run; every conversation once without. ``tokenizer``: a folder
    of the user's, for AIPerf's own figures; ours does for everything that is judged.
    """

    category: str | None = None
    requests: int | None = None
    output_tokens: int = OUTPUT_TOKENS
    tokenizer: Path | None = None


class AIPerfRunner(NamedTuple):
    """Measures with AIPerf. Made by ``aiperf_runner``, which refuses what it cannot do."""

    program: AIPerf
    dataset: Dataset
    root: Path
    asked: Asked
    name: str = AIPERF

    def run(self, served: Served, order: Order) -> Window:
        """Warm up with our own client, then let AIPerf measure.

        What went wrong stands in the window's ``run.errors``: AIPerf's end, its exports, failed
        requests, counters. A KeyboardInterrupt ends AIPerf and is passed on.
        """
        seen: list[Exported] = []

        def put() -> tuple[Load, Sequence[str]]:
            exported = self._measure(served, order)
            seen.append(exported)
            return exported.load, exported.faults

        pace = full_pace(self.asked.output_tokens)
        window = watch(served, pace, self.dataset, order, put)
        counted = seen[0].counted if seen else None
        return window if counted is None else _with_counters(window, counted, order)

    def folder(self, order: Order) -> Path:
        """Where the files of an order go; a run that is made anew gets a new one."""
        if order.label is None:
            parent = self.root / order.mark / AIPERF / order.arm
        else:
            parent = self.root / order.label / AIPERF
        name = f"c{order.concurrency}-r{order.repeat}"
        if not (parent / name).exists():
            return parent / name
        return parent / f"{name}-again-{1 + len(list(parent.glob(f'{name}-again-*')))}"

    def _measure(self, served: Served, order: Order) -> Exported:
        folder = self.folder(order)
        try:
            folder.mkdir(parents=True)
            given = self._give(folder, order)
            job = self._job(served, order, given, folder)
            _write_command(job, self.program)
        except OSError as error:
            return _nothing(order, f"AIPerf's files cannot be written to {folder}: {error}")
        key = served.endpoint.key
        secrets = {} if key is None else {KEY_VARIABLE: key}
        done = self.program.call(command_words(job), timeout_s=job.timeout_s, secrets=secrets)
        exported = read_exports(
            folder,
            concurrency=order.concurrency,
            expected=given.requests,
            engine=served.server.engine,
            categories=given.categories,
        )
        keys = () if key is None else (key,)
        faults = [*_end_faults(done, job), *exported.faults]
        return exported._replace(faults=tuple(redact(fault, keys) for fault in faults))

    def _give(self, folder: Path, order: Order) -> Given:
        return write_input(
            folder,
            self.dataset,
            kind=dataset_kind(self.dataset, self.asked.category),
            requests=self.asked.requests or self.dataset.turns,
            clients=order.concurrency,
            mark=order.place,
        )

    def _job(self, served: Served, order: Order, given: Given, folder: Path) -> Job:
        return Job(
            endpoint=served.endpoint,
            kind=given.kind,
            file=given.file,
            conversations=given.conversations,
            expected=given.requests,
            concurrency=order.concurrency,
            tokenizer=self.asked.tokenizer or write_tokenizer(folder),
            folder=folder,
            requests=None if self.asked.requests is None else given.requests,
            output_tokens=self.asked.output_tokens,
            draft_tokens=order.draft_tokens,
        )


def aiperf_runner(program: AIPerf, dataset: Dataset, root: Path, *, asked: Asked) -> AIPerfRunner:
    """AIPerf for this dataset; its folders go below ``root``.

    Raises:
        DeviceError: status 2 for a dataset that this version of AIPerf would ask differently.
    """
    has_system = any(each.system is not None for each in dataset.conversations)
    if has_system and program.sends_system_messages_alone:
        raise DeviceError(
            USAGE,
            f"AIPerf 0.11 would ask the system messages of {dataset.name} as questions",
            hint="use AIPerf 0.12 or newer, or the native runner",
            code="aiperf_system_message",
        )
    return AIPerfRunner(program, dataset, root, asked)


def _with_counters(window: Window, counted: Counters, order: Order) -> Window:
    """The engine's counters as AIPerf read them, of its own requests alone."""
    length = None if order.arm == BASELINE else counted.mean_accepted_length or 1.0
    run = window.run._replace(mean_accepted_length=length)
    return window._replace(run=run, counted=counted)


def _end_faults(done: Completed, job: Job) -> list[str]:
    """Why AIPerf ended, where it should not have."""
    if done.returncode == 0:
        return []
    if done.returncode == TIMED_OUT:
        return [f"AIPerf was stopped after {job.timeout_s:g} s"]
    how = f"status {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
    said = "; ".join(last_words(done)) or "without a word"
    return [f"AIPerf ended with {how}: {said}"]


def _write_command(job: Job, program: AIPerf) -> None:
    """Write what is run, to be repeated by hand; a key is only named in it."""
    words = shlex.join([program.program, *command_words(job)])
    (job.folder / "command.txt").write_text(words + "\n", encoding="utf-8")
    if job.endpoint.key is not None:
        config_file(job).write_text(config_text(job), encoding="utf-8")


def _nothing(order: Order, fault: str) -> Exported:
    return Exported(Load(order.concurrency, 0.0, 0.0, ()), None, (fault,))
