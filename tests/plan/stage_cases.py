"""Situations for the tests of engines and of stages 4 and 5: catalog, board, chosen image."""

from dataclasses import dataclass

import msgspec

from speccompose.engines import ENGINES
from speccompose.engines.protocol import EngineInputs
from speccompose.plan.budget import fit_memory
from speccompose.plan.resolve import resolve_named
from speccompose.plan.speculate import propose_speculation
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import Build, ImageChoice
from speccompose.vocab.model import Checkpoint, ModelEntry, Pairing
from speccompose.vocab.plan import MemoryPlan, SpeculationPlan
from speccompose.vocab.request import StackRequest

OFF = SpeculationPlan(method=None, depth=0, reason="off")
replace = msgspec.structs.replace


@dataclass
class Case:
    """One board, image, checkpoint and request; change a part with ``but``."""

    device: ResolvedDevice
    choice: ImageChoice
    model: ModelEntry
    request: StackRequest
    catalog: Catalog

    def propose(self) -> tuple[SpeculationPlan, ...]:
        return propose_speculation(self.device, self.choice, self.model, self.request, self.catalog)

    def best(self) -> SpeculationPlan:
        return self.propose()[0]

    def fit(self, speculation: SpeculationPlan | None = None) -> MemoryPlan:
        plan = self.best() if speculation is None else speculation
        return fit_memory(self.device, self.choice, plan, self.model, self.request, self.catalog)

    def inputs(self, speculation: SpeculationPlan | None = None, **more) -> EngineInputs:
        plan = self.best() if speculation is None else speculation
        entry = self.catalog.engines[self.choice.image.engine]
        values = {
            "device": self.device,
            "choice": self.choice,
            "model": self.model,
            "speculation": plan,
            "memory": self.fit(plan),
            "request": self.request,
            "engine": entry,
            "port": entry.default_port,
            "host": "127.0.0.1",
            "target_path": "/models/target",
            "draft_path": "/models/draft",
            "api_key_path": None,
            "served_name": self.choice.checkpoint.repo,
        }
        return EngineInputs(**{**values, **more})

    def command(self, speculation: SpeculationPlan | None = None, **more) -> tuple[str, ...]:
        inputs = self.inputs(speculation, **more)
        return ENGINES[inputs.engine.id].command(inputs)

    def environment(self) -> dict[str, str]:
        inputs = self.inputs()
        return dict(ENGINES[inputs.engine.id].environment(inputs))

    def but(self, **request) -> "Case":
        """The same with another request."""
        return Case(
            self.device, self.choice, self.model, replace(self.request, **request), self.catalog
        )

    def with_model(self, **changes) -> "Case":
        """The same with another model entry."""
        return Case(
            self.device, self.choice, replace(self.model, **changes), self.request, self.catalog
        )

    def with_checkpoint(self, **changes) -> "Case":
        """The same with another checkpoint, also inside the model."""
        changed = replace(self.choice.checkpoint, **changes)
        others = [each for each in self.model.checkpoints if each != self.choice.checkpoint]
        return Case(
            self.device,
            replace(self.choice, checkpoint=changed),
            replace(self.model, checkpoints=(changed, *others)),
            self.request,
            self.catalog,
        )

    def with_device(self, **changes) -> "Case":
        """The same on a board with other memory."""
        return Case(
            replace(self.device, **changes), self.choice, self.model, self.request, self.catalog
        )

    def with_pairing(self, method: str, **changes) -> "Case":
        """The same where the model's first pairing of a method differs."""
        pairings = list(self.model.pairings)
        at = next(i for i, each in enumerate(pairings) if each.method == method)
        pairings[at] = replace(pairings[at], **changes)
        return self.with_model(pairings=tuple(pairings))

    def pairing(self, method: str) -> Pairing:
        return next(each for each in self.model.pairings if each.method == method)


def case(
    catalog: Catalog,
    device_id: str,
    repo: str,
    image: str | None = None,
    version: str | None = None,
    **request,
) -> Case:
    """A case by names; the image is the first of the engine that the format needs."""
    model, checkpoint = _checkpoint(catalog, repo)
    engine = "llama.cpp" if checkpoint.format == "gguf" else "vllm"
    names = {"vllm": "vllm-upstream", "llama.cpp": "llamacpp-iot-cu13"}
    entry = catalog.images[image or names[engine]]
    if image is None and engine == "vllm":
        version = version or "0.27.1"
    choice = ImageChoice(
        image=entry, build=_build(entry.builds, version), checkpoint=checkpoint, reason="test"
    )
    asked = StackRequest(**{"model": repo, **request})
    return Case(resolve_named(device_id, None, catalog), choice, model, asked, catalog)


def _checkpoint(catalog: Catalog, repo: str) -> tuple[ModelEntry, Checkpoint]:
    name, _, quant = repo.partition(":")
    for model in catalog.models.values():
        for checkpoint in model.checkpoints:
            if checkpoint.repo == name and quant in ("", checkpoint.quant):
                return model, checkpoint
    raise KeyError(repo)


def _build(builds: tuple[Build, ...], version: str | None) -> Build:
    """The build of a version, or one made of the newest where the catalog has none."""
    for build in builds:
        if build.version == version:
            return build
    newest = builds[-1]
    return newest if version is None else replace(newest, version=version)


def board(
    catalog: Catalog, device_id: str, *, total_mib: int, available_mib: int
) -> ResolvedDevice:
    """A board with read memory instead of its profile's."""
    return replace(
        resolve_named(device_id, None, catalog),
        memory_mib=total_mib,
        available_mib=available_mib,
        os_reserve_mib=total_mib - available_mib,
        from_profile=False,
    )


def values_of(command: tuple[str, ...], flag: str) -> str:
    """The word after a flag."""
    return command[command.index(flag) + 1]


def codes(findings) -> list[str]:
    return [finding.code for finding in findings]
