"""tests/hosts/*.yaml as observed hosts: whole ones, and others that say what is different.

A capture with ``base`` starts from that one; ``null`` takes something away. ``info`` under
`docker info` is merged into the base's answer. ``expect`` are the findings beyond the base's.
"""

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from speccompose.catalog.yaml_file import parse_plain
from speccompose.device.conditions import Conditions
from speccompose.device.host_reader import Disk, Reached
from speccompose.device.host_texts import Needs
from speccompose.device.machine import read_meminfo
from speccompose.device.observe import Observed, Output

FOLDER = Path(__file__).resolve().parent.parent / "hosts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
HEALTHY = [name for name in NAMES if name.startswith("healthy-")]
MAPS = ("outputs", "files", "folders", "disks", "writable", "reached", "needs")


class Capture(NamedTuple):
    """One recorded host and what must be found on it: code -> severity."""

    observed: Observed
    needs: Needs
    expect: dict[str, str]


@cache
def capture(name: str) -> Capture:
    """Read tests/hosts/NAME.yaml."""
    body = _merged(name)
    return Capture(_observed(body), _needs(body["needs"]), body["expect"])


def _merged(name: str) -> dict[str, Any]:
    text = (FOLDER / f"{name}.yaml").read_text()
    assert text.startswith("# source: "), f"{name} tells no source"
    own: Any = parse_plain(text, name)
    if "base" not in own:
        return own
    body = _merged(own.pop("base"))
    for key, value in own.items():
        if key not in MAPS:
            body[key] = value
            continue
        part = dict(body.get(key) or {})
        for item, changed in value.items():
            part[item] = _with_info(part.get(item), changed)
        body[key] = {item: kept for item, kept in part.items() if kept is not None}
    return body


def _with_info(old: Any, new: Any) -> Any:
    if isinstance(new, dict) and "info" in new and isinstance(old, dict) and "info" in old:
        return {**old, **new, "info": {**old["info"], **new["info"]}}
    return new


def _observed(body: dict[str, Any]) -> Observed:
    told = body.get("conditions")
    return Observed(
        outputs={key: _output(value) for key, value in body["outputs"].items()},
        files=body["files"],
        folders={
            path: tuple(str(name) for name in names) for path, names in body["folders"].items()
        },
        disks={path: Disk(*values) for path, values in body["disks"].items()},
        writable=body["writable"],
        memory_mib=read_meminfo(body["meminfo"]),
        reached={
            host: Reached(fault, None if date is None else _moment(date))
            for host, (fault, date) in body.get("reached", {}).items()
        },
        present=tuple(body.get("present", ())),
        absent=tuple(body.get("absent", ())),
        conditions=None if told is None else _conditions(told),
        now_s=_moment(body["now"]),
        past_s=_moment(body["past"]),
        user_id=body["user_id"],
        host_name=body["host_name"],
        kernel=body["kernel"],
        architecture=body["architecture"],
        raw_table=body["raw_table"],
        modules=body["modules"],
        state_root=body["state_root"],
        disk_rate_mib_s=body.get("disk_rate_mib_s"),
    )


def _output(value: dict[str, Any]) -> Output:
    out = json.dumps(value["info"]) if "info" in value and "out" not in value else value["out"]
    return Output(value.get("status", 0), out, value.get("err", ""))


def _conditions(told: dict[str, Any]) -> Conditions:
    clocks = tuple((told.get("clocks") or {}).items())
    return Conditions(None, clocks, (), tuple(told.get("cooling", ())), told.get("hottest_c"))


def _moment(text: Any) -> float:
    return datetime.fromisoformat(str(text)).timestamp()


def _needs(body: dict[str, Any]) -> Needs:
    kept = dict(body)
    clock = kept.pop("clock", None)
    return Needs(**kept, clock_s=None if clock is None else _moment(clock))
