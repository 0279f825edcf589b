"""What the field cases are proved with: recorded boards, plans, rendered services, refusals."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from speccompose.catalog.facts_file import read_facts
from speccompose.catalog.yaml_file import parse_plain
from speccompose.errors import SpecComposeError
from speccompose.pipeline import explain_refusal, identify_board, plan_stack, render_plan
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest

FACTS = Path(__file__).resolve().parent / "facts"
UPSTREAM, R36 = "vllm-upstream", "vllm-iot-r36"
"""U and N of the cases."""


def recorded(name: str) -> BoardSource:
    path = FACTS / f"{name}.yaml"
    return BoardSource(facts=read_facts(path.read_text(), f"tests/facts/{name}.yaml"))


def named(device: str, l4t: str | None = None) -> BoardSource:
    return BoardSource(device=device, l4t=l4t)


@dataclass(frozen=True)
class Field:
    """The catalog, asked as a user asks."""

    catalog: Catalog

    def device(self, board: BoardSource) -> ResolvedDevice:
        return identify_board(board, self.catalog)

    def plan(self, board: BoardSource, model: str = "qwen3-8b", **options: object) -> StackPlan:
        return plan_stack(StackRequest(model=model, **options), board, self.catalog)

    def service(self, plan: StackPlan) -> dict:
        """The one service of the rendered compose.yaml."""
        text = render_plan(plan, self.catalog).file("compose.yaml").content.decode()
        return parse_plain(text)["services"]["server"]

    def refused(
        self, board: BoardSource, model: str = "qwen3-8b", **options: object
    ) -> SpecComposeError:
        """The refusal; what a script gets of it has no command and ends with the error."""
        request = StackRequest(model=model, **options)
        with pytest.raises(SpecComposeError) as caught:
            plan_stack(request, board, self.catalog)
        document = explain_refusal(caught.value, request, board, self.catalog)
        assert (document.command, document.digest) == (None, None)
        assert document.findings[-1].severity == "error"
        assert caught.value.hint
        return caught.value

    def refused_board(self, board: BoardSource) -> ResolvedDevice:
        """A refused board that is recognised all the same."""
        error = self.refused(board)
        assert error.status == 4
        assert isinstance(error, RefusedBoardError)
        return error.device


@pytest.fixture(scope="session")
def field(catalog: Catalog) -> Field:
    return Field(catalog)


def known(device: ResolvedDevice) -> tuple[str, str | None, str | None]:
    return device.family, device.l4t, device.jetpack


def all_text(error: SpecComposeError) -> str:
    return "\n".join((error.brief, *error.details, error.hint or ""))


def codes(plan: StackPlan) -> set[str]:
    return {finding.code for finding in plan.findings}


def after(command: tuple[str, ...], flag: str) -> str:
    return command[command.index(flag) + 1]
