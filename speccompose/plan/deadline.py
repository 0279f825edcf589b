"""How long a start may take: one figure for health check, systemd, engine and rollout.

Pure. Rules section 5: max(floor, 3 x weights / disk rate + compile allowance), at least 1800 s
above 30 GB of weights.
"""

from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Decision

LARGE_WEIGHTS_MIB = 30_000_000_000 // (1024 * 1024)
LARGE_WEIGHTS_FLOOR_S = 1800


def start_deadline_s(device: ResolvedDevice, engine: EngineEntry, weights_mib: int) -> int:
    """Seconds until a start counts as failed; target and draft weights together."""
    rate = device.profile.disk_rate_mib_s
    load_s = 3 * weights_mib // rate + engine.compile_allowance_s
    floor_s = device.profile.serving.start_floor_s
    if weights_mib > LARGE_WEIGHTS_MIB:
        floor_s = max(floor_s, LARGE_WEIGHTS_FLOOR_S)
    return max(floor_s, load_s)


def explain_deadline(device: ResolvedDevice, engine: EngineEntry, weights_mib: int) -> Decision:
    """The figure with its parts."""
    value = start_deadline_s(device, engine, weights_mib)
    return Decision(
        subject="start deadline",
        value=f"{value} s",
        rule=(
            f"3 x {weights_mib} MiB / {device.profile.disk_rate_mib_s} MiB/s + "
            f"{engine.compile_allowance_s} s to compile, at least "
            f"{device.profile.serving.start_floor_s} s (1800 s above 30 GB)"
        ),
        source="rules section 5",
    )
