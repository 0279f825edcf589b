"""What runs inside the image before weights load, where it is doubtful that kernels run at all.

Beside stage 6 of 7. Pure. One multiplication on the GPU: it fails at once where the image has no
code for the board, and costs seconds instead of the minutes that weights take.
"""

from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.versions import version_key

_MULTIPLY = "import torch; x = torch.ones(64, 64, device='cuda'); print(float((x @ x).sum()))"

_ORIN, _SINCE_L4T = "8.7", "39"


def smoke_test(device: ResolvedDevice, image: ImageEntry) -> tuple[str, ...] | None:
    """The argument list to run in the image first, None where nothing calls for it.

    Rules section 2: on Orin with L4T 39 or newer the evidence for vLLM is thin, so there the test
    is mandatory, whichever vLLM image it is. Every one of them holds python3 and torch.
    """
    return ("python3", "-c", _MULTIPLY) if is_thin(device, image) else None


def is_thin(device: ResolvedDevice, image: ImageEntry) -> bool:
    """Whether this is vLLM on an Orin with L4T 39 or newer."""
    return (
        image.engine == "vllm"
        and device.soc.compute_capability == _ORIN
        and device.l4t is not None
        and version_key(device.l4t) >= version_key(_SINCE_L4T)
    )
