"""One attempt to plan: what is known so far, so that a refusal can tell it as JSON.

Layer: cli. The contract: a refusal prints the same object as a plan, with what is known and an
error finding, on standard output; the message for people goes to standard error.
"""

from types import TracebackType

from speccompose import pipeline
from speccompose.cli.output import echo, echo_json
from speccompose.errors import SpecComposeError
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.export import refusal_document
from speccompose.report.failure import warning_text
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.request import StackRequest


class Attempt:
    """Use as a context manager; set what becomes known while the block runs."""

    def __init__(self, as_json: bool) -> None:
        self.catalog: Catalog | None = None
        self.board: BoardSource | None = None
        self.request: StackRequest | None = None
        self._as_json = as_json

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, SpecComposeError):
            self.tell(error)

    def tell(self, error: SpecComposeError) -> None:
        """Print what stands beside a refusal: the contract's object, or the warnings as text."""
        refused = self.refusal(error)
        if self._as_json:
            echo_json(refused)
        elif warnings := warning_text(refused.findings):
            echo(warnings, err=True)  # what is odd about a board is often why it is refused

    def refusal(self, error: SpecComposeError) -> PlanDocument:
        """The contract's object for a refusal at this point."""
        if self.catalog is None or self.board is None:
            return refusal_document(error, device=None, request=self.request)
        if self.request is None:
            return refusal_document(error, device=self._device(error, self.board, self.catalog))
        return pipeline.explain_refusal(error, self.request, self.board, self.catalog)

    def _device(
        self, error: SpecComposeError, board: BoardSource, catalog: Catalog
    ) -> ResolvedDevice | None:
        try:
            return pipeline.identify_board(board, catalog)
        except SpecComposeError:
            return error.device if isinstance(error, RefusedBoardError) else None
