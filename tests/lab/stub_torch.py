"""What a smoke test in a stub image imports as torch: a product, or a foreign GPU's error."""

import os


class Ones:
    """A square of ones."""

    def __init__(self, side: int) -> None:
        self._side = side

    def __matmul__(self, other: "Ones") -> "Ones":
        return self

    def sum(self) -> float:
        return float(self._side**3)


def ones(side: int, _: int, *, device: str) -> Ones:
    """As torch.ones, on a device that the image's mode may lack."""
    if device == "cuda" and os.environ.get("STUB_MODE") == "no-gpu":
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
    return Ones(side)
