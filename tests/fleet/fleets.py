"""Fleet files for tests, and a planner that is the pipeline itself."""

from pathlib import Path

from speccompose.fleet.file import Fleet, read_fleet
from speccompose.pipeline import plan_stack, render_plan
from speccompose.plan.measured import plan_key
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.measured import MeasuredResult

ROOT = Path(__file__).resolve().parent.parent.parent
PROFILES = (ROOT / "profiles",)

MIXED = """\
fleet: 1
name: shop-floor
stacks:
  chat: {model: qwen3.5-9b}
  small: {model: gemma-4-e2b}
deploy:
  - stack: small
    families: [orin-nano]
  - stack: chat
sites:
  north: {registries: {ghcr.io: "mirror.north:5000"}}
  south: {}
changes: {allow_floating: true}
boards:
  - {id: thor-1, address: 10.0.0.1, site: north, tags: [press], device: agx-thor-t5000}
  - {id: spark-1, address: 10.0.0.2, device: dgx-spark}
  - {id: orin-1, address: 10.0.0.3, site: south, tags: [press], device: agx-orin-64gb, l4t: 36.4.7}
  - {id: orin-2, address: 10.0.0.4, site: south, device: agx-orin-64gb, l4t: 39.2.1}
  - {id: nano-1, address: 10.0.0.5, device: orin-nano-8gb, l4t: 36.4.7}
"""


class Pipeline:
    """The planner of the program, which counts how often it is asked."""

    def __init__(self, catalog: Catalog, outcome: str | None = None) -> None:
        self.catalog, self.outcome, self.planned = catalog, outcome, 0

    def plan(self, request, board, site):
        self.planned += 1
        return plan_stack(request, board, self.catalog)

    def render(self, plan):
        return render_plan(plan, self.catalog)

    def key(self, plan):
        return plan_key(plan.speculation, plan.choice, plan.device)

    def measured(self, key):
        if self.outcome is None:
            return None
        return MeasuredResult(
            key=key,
            outcome=self.outcome,
            baseline_tokens_s=100.0,
            speculative_tokens_s=150.0,
            measured_at="2026-11-30T12:00:00Z",
        )


def read(folder: Path, text: str, devices=("agx-thor-t5000",)) -> Fleet:
    path = folder / "fleet.yaml"
    path.write_text(text)
    return read_fleet(path, PROFILES, devices)
