"""What the tests of the real vLLM share. They run in an environment of their own (.venv-vllm)."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("vllm") is None:
    collect_ignore_glob = ["test_*.py"]

ANY_NAME = """
class _Any(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _Any(name, (), {})
"""
IMPORTED = ("io", "ops", "ops/boxes", "transforms", "transforms/functional", "transforms/v2")


@pytest.fixture(scope="session", autouse=True)
def offline(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No hub, no usage reports, few words; and torchvision's names for those who only import it.

    Multimodal classes (Qwen 3.5, Gemma 4) import torchvision, which is not built for this torch;
    nothing here looks at a picture.
    """
    root = tmp_path_factory.mktemp("names")
    for place in ("", *IMPORTED, "transforms/v2/functional"):
        folder = root / "torchvision" / place
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text(ANY_NAME)
    info = root / "torchvision-0.28.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.28.0\n")
    sys.path.insert(0, str(root))
    inherited = os.environ.get("PYTHONPATH")
    os.environ.update(
        PYTHONPATH=os.pathsep.join([str(root), *([inherited] if inherited else [])]),
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        VLLM_NO_USAGE_STATS="1",
        VLLM_LOGGING_LEVEL="ERROR",
    )


@pytest.fixture
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose path names no method: vLLM reads methods out of paths (runtimes A4)."""
    return tmp_path_factory.mktemp("models")
