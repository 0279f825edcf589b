"""The lab's own catalog entries: what a user with a site mirror would put into ./profiles.

Boards in the lab are real to the planner, so it plans their real CUDA images. Those cannot run
here. Every such image is replaced, whole file by id as any overlay may, by one that differs in
where it comes from and in nothing that a rule reads: same engine, version, methods, boards, GPU
code; another registry, digest and size. The planner's rules and the board's checks stay as they
are. Faulty images are entries of their own, taken by --image alone.
"""

import json
from datetime import date
from pathlib import Path

import msgspec

from speccompose.vocab.catalog import Catalog
from speccompose.vocab.image import Build, ImageEntry
from tests.docker.tiny_gguf import FEED_FORWARD, HEADS, WIDTH, vocabulary, write_tiny_model
from tests.lab.images import push_stub
from tests.lab.registry_client import Layer, RegistryClient
from tests.lab.stub_engine import MODES

MODEL = "lab-tiny"
"""GGUF alone: llama.cpp serves it on every board."""

VLLM_MODEL = "lab-safetensors"
"""BF16 alone: vLLM serves it, where a board has one."""

TARGET_LAYERS, DRAFT_LAYERS = 6, 1
REPOS = {"target": "lab/tiny-GGUF", "draft": "lab/tiny-draft-GGUF"}
VLLM_REPOS = {"target": "lab/safetensors", "draft": "lab/safetensors-draft"}
VLLM_MIB = {"target": 2048, "draft": 256}
"""What the catalog says that these weights have, not what is served: the board judges by it whether
a GPU is at work, and the stub's speed must not exceed what memory of that size allows."""

FILES = {"target": "tiny.gguf", "draft": "tiny-draft.gguf"}
CPU_IMAGE = "llamacpp-cpu"
STUBBED = ("llamacpp-iot-r36", "llamacpp-iot-cu13", "vllm-iot-r36", "vllm-upstream")
FAULTY = tuple(mode for mode in MODES if mode != "ok")
STUB_MIB, CPU_MIB = 32, 168
START_FLOOR_S = 60
_COUNTERS_SINCE = 10326
"""llama.cpp's first build whose /metrics counts drafts (rules section 5)."""

_CHECKED = date(2026, 11, 30)
_SOURCE = "the lab's own"
replace = msgspec.structs.replace


def faulty_id(image_id: str, mode: str) -> str:
    """Id of the faulty image that stands for an image of the catalog."""
    return f"{image_id}-{mode}"


def write_hub(folder: Path) -> None:
    """The lab's model and its draft, as repos of the hub."""
    for role, layers, seed in (("target", TARGET_LAYERS, 1), ("draft", DRAFT_LAYERS, 2)):
        path = folder / REPOS[role] / FILES[role]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tiny_model(path, layers=layers, seed=seed)
    for repo in VLLM_REPOS.values():
        (folder / repo).mkdir(parents=True, exist_ok=True)
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
        (folder / repo / "config.json").write_text(json.dumps(config))
        header = json.dumps({"__metadata__": {"of": repo}}).encode()
        content = len(header).to_bytes(8, "little") + header
        (folder / repo / "model.safetensors").write_bytes(content)


def write_profiles(
    folder: Path,
    catalog: Catalog,
    registry: RegistryClient,
    *,
    host: str,
    stub: list[Layer],
    cpu: list[Layer],
) -> None:
    """Push every image and write the entries that lead to them."""
    for image_id in STUBBED:
        image = catalog.images[image_id]
        repository = image.repositories[0].partition("/")[2]
        _write_image(folder, _stubbed(image, registry, host, repository, stub))
        for mode in FAULTY:
            _write_image(folder, _faulty(image, mode, registry, host, repository, stub))
    _write_image(folder, _real_cpu(catalog.images[CPU_IMAGE], registry, host, cpu))
    _write(folder / "models" / f"{MODEL}.yaml", _model(folder.parent / "hub"))
    _write(folder / "models" / f"{VLLM_MODEL}.yaml", _vllm_model())
    for device in catalog.devices.values():
        if device.supported:
            serving = replace(device.serving, start_floor_s=START_FLOOR_S)
            quick = replace(device, serving=serving)
            _write(folder / "devices" / f"{device.id}.yaml", msgspec.to_builtins(quick))


def _stubbed(
    image: ImageEntry, registry: RegistryClient, host: str, repository: str, stub: list[Layer]
) -> ImageEntry:
    builds = tuple(
        _pushed(build, registry, host, repository, layers=stub, mode="ok") for build in image.builds
    )
    return replace(
        image,
        builds=builds,
        repositories=(f"{host}/{repository}",),
        download_mib=STUB_MIB,
        cache_mib=min(image.cache_mib, STUB_MIB),
    )


def _faulty(
    image: ImageEntry,
    mode: str,
    registry: RegistryClient,
    host: str,
    repository: str,
    stub: list[Layer],
) -> ImageEntry:
    """The image's newest build, gone wrong in one way; only --image takes it."""
    build = _pushed(image.builds[-1], registry, host, f"{repository}-{mode}", stub, mode=mode)
    rows = tuple(replace(row, automatic=False, note=f"stub: {mode}") for row in image.runs_on)
    return replace(
        image,
        id=faulty_id(image.id, mode),
        name=f"{image.name}, {mode}",
        rank=90,
        runs_on=rows,
        builds=(build,),
        repositories=(f"{host}/{repository}-{mode}",),
        download_mib=STUB_MIB,
        cache_mib=min(image.cache_mib, STUB_MIB),
    )


def _pushed(
    build: Build,
    registry: RegistryClient,
    host: str,
    repository: str,
    layers: list[Layer],
    *,
    mode: str,
) -> Build:
    tag = build.reference.rpartition("/")[2].partition("@")[0].partition(":")[2]
    vllm = not build.version.startswith("b")
    digest = push_stub(
        registry,
        repository,
        tag or build.version,
        layers=layers,
        mode=mode,
        version=build.version,
        counters=vllm or int(build.version[1:]) >= _COUNTERS_SINCE,
    )
    reference = f"{host}/{repository}" + (f":{tag}" if tag else "")
    return replace(build, reference=reference, digest=digest, floating=False)


def _real_cpu(
    image: ImageEntry, registry: RegistryClient, host: str, layers: list[Layer]
) -> ImageEntry:
    """The real llama-server, pulled like any other image."""
    build = image.builds[-1]
    name, _, tag = build.reference.partition(":")
    digest = registry.push(name, tag, layers, architecture="amd64")
    pinned = replace(build, reference=f"{host}/{name}:{tag}", digest=digest)
    return replace(
        image,
        builds=(pinned,),
        repositories=(f"{host}/{name}",),
        built_by_us=False,
        download_mib=CPU_MIB,
    )


def _sourced() -> dict[str, object]:
    return {"source": _SOURCE, "checked": _CHECKED.isoformat()}


def _entry(model_id: str, name: str, context: int) -> dict[str, object]:
    """What both models are: the same few layers."""
    head = WIDTH // HEADS
    geometry = {
        "layers": TARGET_LAYERS,
        "attention_layers": TARGET_LAYERS,
        "kv_heads": HEADS,
        "head_dim_k": head,
        "head_dim_v": head,
        "hidden_size": WIDTH,
        "vocab_size": len(vocabulary()),
        "max_context_tokens": 1024,
        **_sourced(),
    }
    return {
        "id": model_id,
        "name": name,
        "base_model": f"lab/{model_id}",
        "architecture": "LlamaForCausalLM",
        "parameters_b": round(TARGET_LAYERS * WIDTH * FEED_FORWARD * 5 / 1e9, 6),
        "context_tokens": context,
        "geometry": geometry,
        **_sourced(),
    }


def _pairing(engine: str, repos: dict[str, str], mib: int) -> dict[str, object]:
    return {
        "method": "draft_model",
        "draft": repos["draft"],
        "draft_mib": mib,
        "draft_kv_bytes_per_token": DRAFT_LAYERS * WIDTH * 2 * 2,
        "engines": [engine],
        "targets": [repos["target"]],
        "depth": 4,
        "preferred_on": ["generic", "agx-orin", "thor"],
        **_sourced(),
    }


def _model(hub: Path) -> dict[str, object]:
    sizes = {
        role: max(1, round((hub / REPOS[role] / FILES[role]).stat().st_size / (1 << 20)))
        for role in REPOS
    }
    checkpoint = {
        "repo": REPOS["target"],
        "format": "gguf",
        "quant": "F32",
        "file": FILES["target"],
        "weights_mib": sizes["target"],
        "weights_evidence": "seen",
        "has_mtp": False,
        **_sourced(),
    }
    pairing = _pairing("llama.cpp", REPOS, sizes["draft"])
    gguf = {"draft_file": FILES["draft"], "draft_format": "gguf"}
    return {
        **_entry(MODEL, "Tiny random model", 512),
        "checkpoints": [checkpoint],
        "pairings": [{**pairing, **gguf}],
    }


def _vllm_model() -> dict[str, object]:
    checkpoint = {
        "repo": VLLM_REPOS["target"],
        "format": "bf16",
        "weights_mib": VLLM_MIB["target"],
        "has_mtp": False,
        **_sourced(),
    }
    return {
        **_entry(VLLM_MODEL, "Files that the stub takes for a model", 512),
        "checkpoints": [checkpoint],
        "pairings": [_pairing("vllm", VLLM_REPOS, VLLM_MIB["draft"])],
    }


def _write_image(folder: Path, image: ImageEntry) -> None:
    _write(folder / "images" / image.id / "image.yaml", msgspec.to_builtins(image))


def _write(path: Path, body: object) -> None:
    """JSON is YAML; what is not set is left out, as in a file that a person wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_told(body), indent=2) + "\n")


def _told(value: object) -> object:
    if isinstance(value, dict):
        return {key: _told(item) for key, item in value.items() if item not in (None, [], {})}
    if isinstance(value, list):
        return [_told(item) for item in value]
    return value
