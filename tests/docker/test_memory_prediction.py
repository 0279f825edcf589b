"""Predicted memory against what llama-server reports and what its process really holds.

Geometry comes from the file as `inspect` reads it, the figures from the planning code; the server
says in its log how large each buffer is, and the kernel says what is resident.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from speccompose.checkpoint.inspect import inspect_checkpoint
from speccompose.pipeline import identify_board
from speccompose.plan.kv import KvCost
from speccompose.plan.sizing import Sizing, measure
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.checkpoint import CheckpointFacts
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import Checkpoint, Geometry, ModelEntry
from speccompose.vocab.plan import SpeculationPlan
from speccompose.vocab.request import StackRequest
from tests.demo_model import SMOLLM2
from tests.docker.llama_server import Mounted, serving
from tests.docker.tiny_models import Dense, Gemma4, HybridQwen, Model, NemotronH, write_model
from tests.golden_cases import CASES

pytestmark = pytest.mark.docker

MIB = 1024 * 1024
WITHIN = 0.10
CHECKED = datetime.date(2026, 11, 30)
OFF = SpeculationPlan(method=None, depth=0, reason="off")
HEADS = SpeculationPlan(method="mtp", engine_method="draft-mtp", depth=3, reason="own heads")

WIDE: dict[str, int] = {"width": 256, "feed_forward": 1024}
HYBRID: dict[str, int] = {
    **WIDE,
    "layers": 8,
    "heads": 8,
    "kv_heads": 4,
    "head_dim": 64,
    "state": 64,
    "groups": 4,
    "ranks": 8,
}
MODELS: dict[str, Model] = {
    "one head for all": Dense(layers=8, heads=8, kv_heads=1, head_dim=128, **WIDE),
    "a head for each": Dense("qwen3", layers=6, heads=8, kv_heads=8, head_dim=32, **WIDE),
    "grouped, sliding": Dense(
        "gemma3", layers=12, heads=8, kv_heads=4, head_dim=64, window=512, **WIDE
    ),
    "shared, sliding": Gemma4(layers=9, heads=8, kv_heads=2, head_dim=256, window_dim=128, **WIDE),
    "hybrid": HybridQwen(nextn=0, **HYBRID),
    "mamba and experts": NemotronH(
        pattern="ME*E" * 3, width=256, expert_width=512, inner=512, state=64, ranks=16, head_dim=128
    ),
}
REAL = "SmolLM2-135M"

SMALLEST = (512, 1, "f16")
SITUATIONS = (SMALLEST, (2048, 2, "q8_0"), (8192, 3, "f16"), (8192, 4, "q8_0"))
"""Context of a slot, slots, KV type. Each model is served in all of them."""


@dataclass(frozen=True)
class Seen:
    """What one server took, in bytes: as its log says, and as the kernel counts it.

    ``held`` is memory of no file: KV, state, buffers. ``mapped`` is of the weights' file.
    """

    weights: float
    kv: float
    state: float
    held: int
    mapped: int


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    root = tmp_path_factory.mktemp("memory")
    found = {}
    for number, (name, model) in enumerate(MODELS.items()):
        (root / str(number)).mkdir()
        found[name] = write_model(root / str(number) / "model.gguf", model)
    return {**found, REAL: SMOLLM2}


def look(file: Path, situation: tuple[int, int, str], *more: str) -> Seen:
    context, slots, kind = situation
    words = [
        *("-m", f"/models/target/{file.name}", "--port", "8080", "-c", str(context * slots)),
        *("-np", str(slots), "-fit", "off", "--cache-ram", "0", "-ctk", kind, "-ctv", kind),
        *("-fa", "on", "--no-warmup", "-lv", "4", *more),
    ]
    with serving(words, Mounted(file.parent)) as server:
        log, maps = server.logs(), server.maps()
    return Seen(
        weights=_buffers(log, "model"),
        kv=_buffers(log, "KV"),
        state=_buffers(log, "RS"),
        held=_sum(maps, "Anonymous", lambda header: True),
        mapped=_sum(maps, "Pss", lambda header: header.endswith(".gguf")),
    )


def _buffers(log: str, kind: str) -> float:
    found = re.findall(rf"{kind} buffer size = +([\d.]+) MiB", log)
    return sum(float(each) for each in found) * MIB


def _sum(maps: str, field: str, wanted: Callable[[str], bool]) -> int:
    """Bytes of one field of /proc/PID/smaps, over the mappings whose header is wanted."""
    total, counts = 0, False
    for line in maps.splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            counts = wanted(line)
        elif counts and line.startswith(f"{field}:"):
            total += int(line.split()[1]) * 1024
    return total


def sizing(
    catalog: Catalog, facts: CheckpointFacts, situation: tuple[int, int, str], plan: SpeculationPlan
) -> Sizing:
    """The situation as stage 5 would see it, with geometry out of the file."""
    context, _, kind = situation
    assert facts.geometry is not None
    own = {"source": "read from the file", "checked": CHECKED}
    geometry = Geometry(**msgspec.structs.asdict(facts.geometry), **own)
    checkpoint = Checkpoint(repo="tests/tiny", format="gguf", weights_mib=facts.weights_mib, **own)
    image = catalog.images["llamacpp-cpu"]
    model = ModelEntry(
        id="tiny",
        name="tiny",
        base_model="tests/tiny",
        architecture=facts.architecture,
        geometry=geometry,
        checkpoints=(checkpoint,),
        **own,
    )
    return Sizing(
        device=identify_board(CASES["generic-smollm2-draft"][1], catalog),
        choice=ImageChoice(
            image=image, build=image.builds[-1], checkpoint=checkpoint, reason="test"
        ),
        speculation=plan,
        model=model,
        request=StackRequest(model="tiny", set_flags=(("ctk", kind), ("ctv", kind))),
        engine=catalog.engines["llama.cpp"],
        context_tokens=context,
    )


def kv_bytes(cost: KvCost, situation: tuple[int, int, str]) -> int:
    context, slots, _ = situation
    return cost.load_bytes(context, requests=slots, sequences=slots)


def near(value: float) -> object:
    return pytest.approx(value, rel=WITHIN)


@pytest.mark.parametrize("name", [*MODELS, REAL])
def test_weights_and_kv_are_what_the_server_and_the_kernel_say(name, files, catalog):
    facts = inspect_checkpoint(files[name])
    seen, predicted = {}, {}
    for situation in SITUATIONS:
        parts = measure(sizing(catalog, facts, situation, OFF))
        now = seen[situation] = look(files[name], situation)
        kv = predicted[situation] = kv_bytes(parts.cost, situation)
        weights = parts.weights_mib * MIB
        assert now.weights == near(weights), situation
        assert now.kv + now.state == near(kv), situation
        assert now.mapped == near(weights), situation
        everything = weights + kv + parts.runtime_mib * MIB
        assert weights + kv < now.mapped + now.held < everything, situation
    for situation in SITUATIONS[2:]:
        grown = seen[situation].held - seen[SMALLEST].held
        assert grown == near(predicted[situation] - predicted[SMALLEST]), situation


@pytest.mark.parametrize("kind", ["f16", "q8_0"])
def test_prediction_heads_keep_kv_and_states_of_their_own(kind, catalog, tmp_path):
    """The heads' KV stays f16 whatever the target's is; each drafted token keeps a state."""
    file = write_model(tmp_path / "model.gguf", HybridQwen(**HYBRID))
    situation = (2048, 2, kind)
    more = ("--spec-type", "draft-mtp", "--spec-draft-n-max", str(HEADS.depth))
    seen = look(file, situation, *more)
    parts = measure(sizing(catalog, inspect_checkpoint(file), situation, HEADS))
    assert seen.mapped == near(parts.weights_mib * MIB)
    assert seen.kv + seen.state == near(kv_bytes(parts.cost, situation))
    assert seen.state == near(parts.cost.state_bytes * parts.cost.states * 2)
