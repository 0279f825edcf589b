"""Part of stage 6: how slow a server may be and still be believed to run on the GPU.

Pure. Rules section 5, "On the GPU": tokens/s at least 30 % of bandwidth / active weight bytes.
A silent fall back to the CPU stays well below it.
"""

from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.model import ModelEntry

FLOOR_SHARE = 0.3


def gpu_floor_tokens_s(device: ResolvedDevice, model: ModelEntry, weights_mib: int) -> float | None:
    """Tokens/s below which the GPU is not believed; None where the bandwidth is not known.

    Of a mixture of experts only the active share of the weights is read per token.
    """
    memory = device.profile.memory
    if memory is None or memory.bandwidth_gb_s is None or weights_mib == 0:
        return None
    active_bytes = weights_mib * 1024 * 1024 * _active_share(model)
    return round(FLOOR_SHARE * memory.bandwidth_gb_s * 1e9 / active_bytes, 2)


def _active_share(model: ModelEntry) -> float:
    geometry = model.geometry
    if geometry is None or geometry.active_parameters_m is None or not model.parameters_b:
        return 1.0
    return min(1.0, geometry.active_parameters_m / (model.parameters_b * 1000))
