"""Exports of real runs: AIPerf 0.11, 0.12 and 0.13 against the real llama-server and vLLM.

Eight requests, two clients, 24 tokens each, a draft of four (llama.cpp, acceptance made up by
--spec-synth-len 2.5) or three tokens (vLLM 0.32 on the CPU). Paths are shortened; of vLLM's metrics
those of speculation are kept. Recorded with measure/aiperf.py.
"""

import json
import shutil
from pathlib import Path

FOLDER = Path(__file__).with_name("aiperf_exports")
LLAMA_CPP = ("llamacpp-0.11", "llamacpp-0.12", "llamacpp-0.13")
VLLM = ("vllm-0.11", "vllm-0.13")
ALL = (*LLAMA_CPP, *VLLM)
REQUESTS, CLIENTS, TOKENS = 8, 2, 24


def engine_of(name: str) -> str:
    return "vllm" if name.startswith("vllm") else "llama.cpp"


def copy_of(name: str, to: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(FOLDER / name, to / name))


def summary(name: str) -> dict:
    return json.loads((FOLDER / name / "profile_export_aiperf.json").read_text())


def categories(name: str) -> dict[str, str]:
    rows = (FOLDER / name / "qualitative.jsonl").read_text().splitlines()
    return {row["question_id"]: row["category"] for row in map(json.loads, rows)}
