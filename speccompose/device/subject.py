"""A release's plan.json becomes what a result says was measured, and how to do it again.

Layer: device (standard library, Python 3.8). Pure. Figures without the build, the weights and the
context that they hold for are worth nothing later.
"""

from __future__ import annotations

import json
import shlex
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device.plan_file import Plan

Json = Dict[str, object]

_OPTIONS = (
    ("engine", "--engine", "auto"),
    ("workload", "--workload", "chat"),
    ("context_tokens", "--context", None),
    ("concurrency", "--concurrency", 1),
    ("gpu_memory_utilization", "--gpu-memory-utilization", None),
    ("image", "--image", None),
    ("port", "--port", None),
    ("bind", "--bind", "127.0.0.1"),
    ("api_key_file", "--api-key-file", None),
    ("runtime", "--runtime", "container"),
    ("assume_l4t", "--assume-l4t", None),
)
_SWITCHES = (("insecure", "--insecure"), ("force", "--force"), ("offline", "--offline"))


class Subject(NamedTuple):
    """What is measured. ``asked`` is the request that the plan was made from, where it says."""

    body: Json
    asked: Optional[Json]
    server: Tuple[str, ...]
    baseline: Tuple[str, ...]

    def as_dict(self) -> Json:
        """The form that results keep."""
        return dict(self.body)

    def commands(self, measure: str) -> Dict[str, str]:
        """What to type to get here, to measure, and what both arms' servers run."""
        told = {
            "measure": measure,
            "baseline_server": shlex.join(self.baseline),
            "speculative_server": shlex.join(self.server),
        }
        if self.asked is not None:
            told["deploy"] = shlex.join(deploy_words(self.asked, self.body))
        return told


def read_subject(text: str, plan: Plan, baseline: Tuple[str, ...]) -> Subject:
    """Take from plan.json what ``plan`` does not carry; what is not there is None."""
    whole: object = json.loads(text)
    document: Json = whole if isinstance(whole, dict) else {}
    device, image = _part(document, "device"), _part(document, "image")
    model, how = _part(document, "model"), _part(document, "speculation")
    memory = _part(document, "memory")
    depth = how.get("depth")
    body: Json = {
        "stack": plan.name,
        "plan": plan.digest,
        "device": _text(device.get("id")),
        "family": _text(device.get("family")),
        "engine": plan.engine,
        "engine_version": plan.engine_version,
        "image": plan.image,
        "image_digest": _text(image.get("digest")),
        "target": _text(model.get("repo")),
        "draft": _text(how.get("draft")),
        "method": plan.method,
        "depth": depth if isinstance(depth, int) else 0,
        "context_tokens": _whole(memory.get("context_tokens")),
        "sequences": _whole(memory.get("sequences")),
    }
    asked = document.get("request")
    return Subject(
        body,
        asked if isinstance(asked, dict) else None,
        (*plan.entrypoint, *plan.command),
        (*plan.entrypoint, *baseline),
    )


def deploy_words(asked: Json, body: Json) -> List[str]:
    """The request as a command line, with what was decided for it named: method, draft, depth."""
    words = ["speccompose", "deploy", "--model", str(asked.get("model")), "--name"]
    words += [str(body["stack"]), "--method", str(body["method"])]
    if body["method"] != "none":
        words += ["--depth", str(body["depth"])]
        if asked.get("draft") is not None:
            words += ["--draft", str(asked["draft"])]
    for field, option, plain in _OPTIONS:
        value = asked.get(field)
        if value is not None and value != plain:
            words += [option, str(value)]
    words += [option for field, option in _SWITCHES if asked.get(field) is True]
    flags = asked.get("set_flags")
    for pair in flags if isinstance(flags, list) else []:
        words += ["--set", f"{pair[0]}={pair[1]}" if pair[1] else str(pair[0])]
    return words


def _part(document: Json, key: str) -> Json:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> Optional[str]:
    return value if isinstance(value, str) else None


def _whole(value: object) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
