"""Stage 7 of 7: a finished plan becomes the bytes of a stack folder. Pure.

The only importer of jinja2. Templates print and never decide; each printed value goes through one
finaliser per file format. The Compose file is parsed again and compared with the plan, so what
runs is what was planned (YAML -> argv -> JSON).
"""

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from speccompose.plan.assemble import SECRETS_PATH
from speccompose.plan.export import encode_document, plan_document
from speccompose.plan.native import is_native
from speccompose.plan.native_unit import (
    Cache,
    UnitText,
    caches,
    check_unit,
    command_line,
    environment_lines,
    read_only_binds,
)
from speccompose.plan.reread import check_compose
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.plan import Mount, StackPlan
from speccompose.vocab.rendered import RenderedFile, RenderedStack

if TYPE_CHECKING:
    from jinja2 import Template

STOP_GRACE_S = 30
PIDS_LIMIT = 4096
RESTART_PAUSE_S = 30
"""Between two starts by systemd: what comes late at boot (the GPU's runtime) may come meanwhile."""

DOCKER_CONFIG = "/etc/speccompose/docker"
"""Where the unit's docker client looks for its own settings: a home folder is hidden from it."""


class Variable(Frozen, frozen=True, kw_only=True):
    """One environment variable, as the template prints it."""

    name: str
    value: str


Value = str | int | bool | None
View = dict[
    str,
    Value | tuple[str, ...] | tuple[Variable, ...] | tuple[Mount, ...] | tuple[Cache, ...],
]


def render_stack(plan: StackPlan, catalog: Catalog, program: bytes) -> RenderedStack:
    """Print every file of the stack folder; ``program`` is the on-board program's zipapp.

    Raises:
        SpecComposeError: the printed Compose file says something else than the plan (our bug).
    """
    env = _print(catalog.templates["speccompose.env.j2"], env_view(plan), env_word)
    document = encode_document(plan_document(plan, catalog))
    acceptance = json.loads(document)["acceptance"]
    files = [
        *(_native(plan, catalog) if is_native(plan.request) else _container(plan, catalog)),
        RenderedFile(path="speccompose.env", content=env.encode()),
        RenderedFile(path="plan.json", content=document),
        RenderedFile(path="acceptance.json", content=_json(acceptance)),
        RenderedFile(path="check", content=program, mode=0o755),
    ]
    files.append(RenderedFile(path="SHA256SUMS", content=_sums(files)))
    return RenderedStack(name=plan.name, digest=plan.digest, files=tuple(files))


def _container(plan: StackPlan, catalog: Catalog) -> tuple[RenderedFile, ...]:
    """What serves in a container: the Compose file, and the unit that starts it at boot."""
    compose = _print(catalog.templates["compose.yaml.j2"], compose_view(plan), yaml_scalar)
    check_compose(compose, plan)
    unit = _print(catalog.templates["stack.service.j2"], unit_view(plan), unit_word)
    return (
        RenderedFile(path="compose.yaml", content=compose.encode()),
        RenderedFile(path=f"{plan.name}.service", content=unit.encode()),
    )


def _native(plan: StackPlan, catalog: Catalog) -> tuple[RenderedFile, ...]:
    """What serves without one: the unit is the server."""
    unit = _print(catalog.templates["native.service.j2"], native_view(plan), native_word)
    check_unit(unit, plan)
    return (RenderedFile(path=f"{plan.name}.service", content=unit.encode()),)


def compose_view(plan: StackPlan) -> View:
    """Finished values for compose.yaml."""
    return {
        "project": project_name(plan),
        "name": plan.name,
        "image": plan.image_reference,
        "gpu_runtime": plan.gpu_runtime,
        "user": plan.user,
        "host_network": plan.host_network,
        "published": None if plan.host_network else published_port(plan),
        "entrypoint": plan.entrypoint,
        "command": plan.command,
        "environment": tuple(
            Variable(name=name, value=value) for name, value in sorted(plan.environment.items())
        ),
        "binds": tuple(mount for mount in plan.mounts if not mount.volume),
        "volumes": tuple(mount for mount in plan.mounts if mount.volume),
        "shm_size": f"{max(plan.memory.shm_mib, 64)}m",
        "read_only": plan.read_only,
        "stop_grace": f"{STOP_GRACE_S}s",
        "memory_limit": f"{memory_limit_mib(plan)}m",
        "pids_limit": PIDS_LIMIT,
        "health_test": plan.health.test,
        "start_period": f"{plan.health.start_deadline_s}s",
        "interval": f"{plan.health.interval_s}s",
        "timeout": f"{plan.health.timeout_s}s",
        "retries": plan.health.retries,
    }


def unit_view(plan: StackPlan) -> View:
    """Finished values for the systemd unit.

    The interval of the start limit is longer than the starts that it counts can take together:
    three that each end at their deadline would otherwise never reach it.
    """
    state = plan.request.state_root
    start_timeout = plan.health.start_deadline_s + 60
    return {
        "name": plan.name,
        "project": project_name(plan),
        "folder": f"{state}/stacks/{plan.name}/current",
        "models": f"{state}/models",
        "state": state,
        "secrets": plan.request.secrets_root,
        "docker_config": DOCKER_CONFIG,
        "protect_home": _protect_home(state, plan.request.secrets_root),
        "start_deadline": plan.health.start_deadline_s,
        "start_timeout": start_timeout,
        "start_limit_interval": max(3600, 4 * (start_timeout + RESTART_PAUSE_S)),
        "restart_pause": RESTART_PAUSE_S,
        "stop_grace": STOP_GRACE_S,
        "stop_timeout": STOP_GRACE_S + 30,
    }


def native_view(plan: StackPlan) -> View:
    """Finished values for the unit of a stack without a container."""
    state, secrets = plan.request.state_root, plan.request.secrets_root
    return {
        **unit_view(plan),
        "protect_home": _protect_home(state, secrets, plan.entrypoint[0], hidden="tmpfs"),
        "environment": environment_lines(plan),
        "command_line": command_line(plan),
        "read_only_binds": read_only_binds(plan),
        "caches": caches(plan),
        "secrets_target": SECRETS_PATH if plan.api_key else None,
        "memory_limit": memory_limit_mib(plan),
        "pids_limit": PIDS_LIMIT,
    }


def _protect_home(*places: str, hidden: str = "yes") -> str:
    """Home folders are hidden from the unit, unless something of ours lies in one."""
    homes = ("/home/", "/root/", "/run/user/")
    return "read-only" if any(f"{place}/".startswith(homes) for place in places) else hidden


def env_view(plan: StackPlan) -> View:
    """Finished values for speccompose.env."""
    host = "127.0.0.1" if plan.bind in ("0.0.0.0", "::") else plan.bind
    return {
        "name": plan.name,
        "project": project_name(plan),
        "digest": plan.digest,
        "endpoint": f"http://{url_host(host)}:{plan.port}/v1",
        "served_name": plan.served_name,
    }


def project_name(plan: StackPlan) -> str:
    """The Compose project of a stack."""
    return f"speccompose-{plan.name}"


def published_port(plan: StackPlan) -> str:
    """Compose's short form, bound to one address."""
    return f"{url_host(plan.bind)}:{plan.port}:{plan.port}"


def memory_limit_mib(plan: StackPlan) -> int:
    """A ceiling that keeps sshd alive when the estimate is wrong, not the estimate itself.

    Total less the 2 GiB of headroom (rules section 4), in steps of 256 MiB, so that boards whose
    MemTotal differs by a few MiB get the same file.
    """
    return (plan.memory.total_mib - 2048) // 256 * 256


def url_host(address: str) -> str:
    """IPv6 addresses stand in brackets."""
    return f"[{address}]" if ":" in address else address


def yaml_scalar(value: Value) -> str:
    """A value as YAML: text always quoted, with `$` doubled so that Compose does not expand it."""
    if value is None:
        raise ValueError("an absent value reached a template")
    if isinstance(value, bool | int):
        return json.dumps(value)
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False)


def unit_word(value: Value) -> str:
    """A value inside a systemd unit: `%` doubled; white space and quotes cannot be printed."""
    text = str(value)
    if any(char in text for char in " \t\n\"'\\;"):
        raise ValueError(f"cannot stand in a systemd unit: {text!r}")
    return text.replace("%", "%%")


def native_word(value: Value) -> str:
    """As ``unit_word``; what is quoted already is printed as it is."""
    return str(value) if isinstance(value, UnitText) else unit_word(value)


def env_word(value: Value) -> str:
    """A value in speccompose.env: one line, quoted when a shell would split it."""
    text = str(value)
    if "\n" in text or "'" in text:
        raise ValueError(f"cannot stand in an env file: {text!r}")
    return text if text.replace("-", "").replace("_", "").isalnum() else f"'{text}'"


def _print(template: str, view: View, finalise: Callable[[Value], str]) -> str:
    return _compiled(template, finalise).render(view)


@lru_cache(maxsize=16)
def _compiled(template: str, finalise: Callable[[Value], str]) -> "Template":
    # Imported where used: `plan` prints no stack and must not wait 90 ms for jinja2.
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=finalise,
    )
    return environment.from_string(template)


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _sums(files: list[RenderedFile]) -> bytes:
    lines = [f"{hashlib.sha256(f.content).hexdigest()}  {f.path}\n" for f in files]
    return "".join(sorted(lines, key=lambda line: line.split("  ", 1)[1])).encode()
