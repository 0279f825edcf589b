"""A board as text and as the contract's `detect --json`.

Layer: report. Pure.
"""

from speccompose.plan.export import device_document
from speccompose.report.plan_text import findings_lines
from speccompose.report.table import columns, gib
from speccompose.vocab.base import Frozen
from speccompose.vocab.document import DeviceDocument
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding


class DetectDocument(Frozen, frozen=True, kw_only=True):
    """{device, findings}."""

    device: DeviceDocument | None
    findings: tuple[Finding, ...]


def detect_document(device: ResolvedDevice) -> DetectDocument:
    """The contract's object."""
    return DetectDocument(device=device_document(device), findings=device.findings)


def device_text(device: ResolvedDevice) -> str:
    """Name, release, memory, and what decided."""
    rows = [["device", f"{device.id} (family {device.family})"]]
    if device.l4t:
        rows.append(["L4T", f"{device.l4t} ({device.l4t_origin}), JetPack {device.jetpack}"])
    capability = device.soc.compute_capability
    rows.append(["SoC", device.soc.id + (f", compute {capability}" if capability else "")])
    rows.append(
        [
            "memory",
            f"{device.memory_mib} MiB, {device.available_mib} MiB "
            f"({gib(device.available_mib)}) to use",
        ]
    )
    if device.power_mode:
        rows.append(["power mode", device.power_mode])
    lines = [device.profile.name, *columns(rows)]
    if device.evidence:
        lines += ["", "known from", *columns([[item] for item in device.evidence])]
    return "\n".join(lines + findings_lines(device.findings))
