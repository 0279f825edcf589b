"""plan.json becomes the facts that a board acts on.

Layer: device (standard library, Python 3.8). Only the keys used here are read and checked; others
are the control side's business. A key of the wrong kind is an error that names it.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

from speccompose.device.errors import DATA, DeviceError
from speccompose.device.host_vllm import REFERENCE
from speccompose.device.locked_files import LockedFiles, parse_locked
from speccompose.device.paths import digest_hex, is_stack_name
from speccompose.device.safe_name import name_fault

Json = Union[None, bool, int, float, str, List["Json"], Dict[str, "Json"]]


class Download(NamedTuple):
    """Weights of one repo (or one file of it) below the models folder."""

    role: str
    repo: str
    file: Optional[str]
    directory: str
    mib: Optional[int]
    bundled: Optional[str]
    revision: str = "main"
    files: LockedFiles = MappingProxyType({})


class MemoryNeed(NamedTuple):
    """What the stack takes, in MiB."""

    weights_mib: int
    draft_mib: int
    kv_cache_mib: int
    runtime_mib: int
    shm_mib: int
    total_mib: int
    utilization: Optional[float]

    @property
    def held_mib(self) -> int:
        """What a running server of this plan holds."""
        parts = self.weights_mib + self.draft_mib + self.kv_cache_mib
        return parts + self.runtime_mib + self.shm_mib


class HealthRule(NamedTuple):
    """How long a start may take, and how often the container proves itself."""

    start_deadline_s: int
    interval_s: int
    timeout_s: int
    path: str


class Plan(NamedTuple):
    """A stack's plan.json, as far as the board needs it."""

    name: str
    project: str
    service: str
    digest: str
    engine: str
    engine_version: Optional[str]
    image: str
    image_download_mib: Optional[int]
    cache_mib: int
    cache_volumes: Tuple[str, ...]
    smoke_test: Optional[Tuple[str, ...]]
    entrypoint: Tuple[str, ...]
    command: Tuple[str, ...]
    family: str
    gpu_runtime: Optional[str]
    user: Optional[str]
    port: int
    bind: str
    served_name: str
    method: str
    memory: MemoryNeed
    health: HealthRule
    api_key: bool
    api_key_file: Optional[str]
    downloads: Tuple[Download, ...]
    gpu_floor_tokens_s: Optional[float]

    @property
    def is_native(self) -> bool:
        """Whether it is served by this board's own vLLM, without a container."""
        return self.image.startswith(REFERENCE)

    @property
    def local_host(self) -> str:
        """The address under which this machine reaches the server."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.bind, self.bind)

    @property
    def endpoint(self) -> str:
        """The OpenAI base address, as this machine reaches it."""
        host = f"[{self.local_host}]" if ":" in self.local_host else self.local_host
        return f"http://{host}:{self.port}/v1"


def parse_plan(text: str, origin: str) -> Plan:
    """Read a plan.json.

    Raises:
        DeviceError: status 3, naming the key that is missing or of the wrong kind.
    """
    try:
        reader = _Reader(json.loads(text))
        plan = _plan(reader)
        if not is_stack_name(plan.name):
            raise _BadKeyError(f"name: {plan.name!r} cannot name a stack")
        digest_hex(plan.digest)
    except (ValueError, OverflowError, RecursionError) as error:
        raise DeviceError(
            DATA,
            f"{origin} is no plan that this board can use",
            [str(error)],
            hint="render the stack again with the same speccompose version",
            code="bad_plan",
        ) from None
    return plan


class _BadKeyError(ValueError):
    """A key is missing or of the wrong kind."""


class _Reader:
    """Typed access to parsed JSON; every message carries the whole key."""

    def __init__(self, value: Json, path: str = "") -> None:
        self._value = value
        self._path = path

    def part(self, key: str) -> _Reader:
        return _Reader(self._get(key), self._name(key))

    def anything(self, key: str) -> Json:
        return self._get(key)

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "text")
        return value

    def text_or_none(self, key: str) -> Optional[str]:
        return None if self._get(key) is None else self.text(key)

    def number(self, key: str) -> int:
        value = self._get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(key, "a whole number")
        return value

    def number_or_none(self, key: str) -> Optional[int]:
        return None if self._get(key) is None else self.number(key)

    def real_or_none(self, key: str) -> Optional[float]:
        value = self._get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(key, "a number")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self._get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def texts(self, key: str) -> Tuple[str, ...]:
        value = self._get(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list of texts")
        found = tuple(item for item in value if isinstance(item, str))
        if len(found) != len(value):
            raise self._wrong(key, "a list of texts")
        return found

    def texts_or_none(self, key: str) -> Optional[Tuple[str, ...]]:
        if self._get(key) is None:
            return None
        found = self.texts(key)
        if not found:
            raise self._wrong(key, "at least one text")
        return found

    def parts(self, key: str) -> Tuple[_Reader, ...]:
        value = self._get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return tuple(_Reader(v, f"{self._name(key)}[{i}]") for i, v in enumerate(value))

    def _get(self, key: str) -> Json:
        if not isinstance(self._value, dict):
            raise _BadKeyError(f"{self._path or 'the document'}: wanted an object")
        return self._value.get(key)

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _wrong(self, key: str, wanted: str) -> _BadKeyError:
        return _BadKeyError(f"{self._name(key)}: wanted {wanted}, found {self._get(key)!r}")


def _plan(top: _Reader) -> Plan:
    image = top.part("image")
    family = top.part("device").text("family")
    return Plan(
        name=top.text("name"),
        project=top.text("project"),
        service=top.text("service"),
        digest=top.text("digest"),
        engine=image.text("engine"),
        engine_version=image.text_or_none("engine_version"),
        image=image.text("reference"),
        image_download_mib=image.number_or_none("download_mib"),
        cache_mib=image.number_or_none("cache_mib") or 0,
        cache_volumes=_cache_volumes(top),
        smoke_test=top.texts_or_none("smoke_test"),
        entrypoint=top.texts("entrypoint"),
        command=top.texts("command"),
        family=family,
        gpu_runtime=top.text_or_none("gpu_runtime"),
        user=top.text_or_none("user"),
        port=top.number("port"),
        bind=top.text("bind"),
        served_name=top.text("served_name"),
        method=top.part("speculation").text("method"),
        memory=_memory(top.part("memory")),
        health=_health(top.part("health")),
        api_key=top.flag("api_key"),
        api_key_file=top.text_or_none("api_key_file"),
        downloads=tuple(_download(item) for item in top.parts("downloads")),
        gpu_floor_tokens_s=top.part("acceptance").real_or_none("gpu_floor_tokens_s"),
    )


def _cache_volumes(top: _Reader) -> Tuple[str, ...]:
    """Named volumes: an engine build keeps its compiled kernels there."""
    mounts = top.parts("mounts")
    return tuple(mount.text("source") for mount in mounts if mount.flag("volume"))


def _memory(part: _Reader) -> MemoryNeed:
    return MemoryNeed(
        weights_mib=part.number("weights_mib"),
        draft_mib=part.number("draft_mib"),
        kv_cache_mib=part.number("kv_cache_mib"),
        runtime_mib=part.number("runtime_mib"),
        shm_mib=part.number("shm_mib"),
        total_mib=part.number("total_mib"),
        utilization=part.real_or_none("gpu_memory_utilization"),
    )


def _health(part: _Reader) -> HealthRule:
    return HealthRule(
        start_deadline_s=part.number("start_deadline_s"),
        interval_s=part.number("interval_s"),
        timeout_s=part.number("timeout_s"),
        path=part.text("path"),
    )


def _download(part: _Reader) -> Download:
    directory = part.text("directory")
    file = part.text_or_none("file")
    for name in (directory, file):
        fault = None if name is None else name_fault(name)
        if fault is not None:
            raise _BadKeyError(f"downloads: {name!r} leaves the models folder: {fault}")
    return Download(
        role=part.text("role"),
        repo=part.text("repo"),
        file=file,
        directory=directory,
        mib=part.number_or_none("mib"),
        bundled=part.text_or_none("bundled"),
        revision=part.text_or_none("revision") or "main",
        files=parse_locked(part.anything("files")),
    )
