"""The servers that can be planned for, one file each; this mapping is the whole registry.

Layer: engines. To add an engine: a file here, one line below, profiles/engines/<name>.yaml.
"""

from collections.abc import Mapping

from speccompose.engines.llama_cpp import LlamaCpp
from speccompose.engines.protocol import Engine
from speccompose.engines.vllm import Vllm
from speccompose.vocab.image import EngineName

ENGINES: Mapping[EngineName, Engine] = {"vllm": Vllm(), "llama.cpp": LlamaCpp()}
