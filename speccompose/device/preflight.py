"""A host and a plan become the list of what would go wrong, before anything is pulled or changed.

Layer: device (standard library, Python 3.8). Read ``judge`` first; it is the list of the checks.

    check_host(ports, ...)               -> findings about this host      (doctor)
    check_stack(ports, plan, roots, ...) -> findings about one deploy     (status 15 when any error)
    judge(observed, needs)               -> the same about a recorded host, pure
    refuse(findings)                     raises one DeviceError for all errors

Everything is looked at before anything is refused, so that one run names every cause.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

from speccompose.device.check_bridges import check_bridges
from speccompose.device.check_clock import check_clock
from speccompose.device.check_disk import check_disk
from speccompose.device.check_engine import SILENT as SILENT
from speccompose.device.check_engine import check_engine
from speccompose.device.check_gpu import check_gpu
from speccompose.device.check_memory import MIN_HEADROOM_MIB as MIN_HEADROOM_MIB
from speccompose.device.check_memory import check_memory
from speccompose.device.check_network import check_network
from speccompose.device.check_plan import disk_findings as disk_findings
from speccompose.device.check_plan import (
    image_findings,
    memory_findings,
    port_findings,
    weight_findings,
)
from speccompose.device.check_ports import check_ports
from speccompose.device.check_power import check_power
from speccompose.device.check_rights import check_rights
from speccompose.device.check_upkeep import check_upkeep
from speccompose.device.docker_cli import ContainerInfo
from speccompose.device.errors import PREFLIGHT, DeviceError
from speccompose.device.host_finding import ERROR as ERROR
from speccompose.device.host_finding import WARNING as WARNING
from speccompose.device.host_finding import HostFinding as HostFinding
from speccompose.device.host_texts import Needs as Needs
from speccompose.device.observe import Observed, observe
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Plan
from speccompose.device.ports import Ports

JETSONS = ("thor", "agx-orin", "orin-nx", "orin-nano")
"""Families whose stacks use the host's network (rules section 5)."""

_CHECKS = (
    check_engine,
    check_gpu,
    check_disk,
    check_memory,
    check_rights,
    check_clock,
    check_ports,
    check_network,
    check_bridges,
    check_power,
    check_upkeep,
)


def judge(observed: Observed, needs: Needs) -> List[HostFinding]:
    """Every finding about a host, in the order of the checks; each is there once."""
    found = [finding for check in _CHECKS for finding in check(observed, needs)]
    return list(dict.fromkeys(found))


def refuse(findings: Sequence[HostFinding]) -> None:
    """Raise one error for all findings that forbid the deploy.

    Raises:
        DeviceError: status 15.
    """
    errors = [finding for finding in findings if finding.severity == ERROR]
    if not errors:
        return
    if len(errors) == 1:
        only = errors[0]
        brief, _, rest = only.message.partition("\n")
        details = [*rest.splitlines(), *only.evidence, *_commands(only)]
        raise DeviceError(PREFLIGHT, brief, details, only.hint, only.code)
    details = []
    for finding in errors:
        details += [finding.message, *(f"  {line}" for line in finding.evidence)]
        if finding.hint:
            details.append(f"  -> {finding.hint}")
        details += [f"  {line}" for line in _commands(finding)]
    raise DeviceError(PREFLIGHT, f"{len(errors)} things stand in the way", details)


def check_host(
    ports: Ports,
    gpu_runtime: Optional[str] = None,
    *,
    roots: Optional[Roots] = None,
    needs: Optional[Needs] = None,
) -> List[HostFinding]:
    """Everything about this host that needs no plan."""
    asked = needs or Needs(gpu_runtime=gpu_runtime, host_network=gpu_runtime is not None)
    return judge(observe(ports, roots or Roots()), asked)


def check_stack(
    ports: Ports, plan: Plan, roots: Roots, *, own: Optional[Plan], running: Optional[ContainerInfo]
) -> List[HostFinding]:
    """Everything that must be so before a switch.

    ``own`` is the plan of the release that runs now in this stack's place and will make room;
    None when nothing of it runs. ``running`` is its container.
    """
    findings = judge(observe(ports, roots), plan_needs(plan))
    if not any(finding.code in SILENT for finding in findings):
        findings += image_findings(ports, plan)
    findings += weight_findings(plan, roots)
    findings += port_findings(ports, plan, own=own, running=running)
    findings += memory_findings(ports, plan, own if running is not None else None)
    return findings


def plan_needs(plan: Plan) -> Needs:
    """What a plan asks of the host beside what ``check_plan`` judges."""
    return Needs(
        gpu_runtime=plan.gpu_runtime,
        host_network=plan.family in JETSONS,
        pulls=False,
        stack=True,
        port=plan.port,
    )


def _commands(finding: HostFinding) -> List[str]:
    return [f"fix: {line}" for line in finding.fix]
