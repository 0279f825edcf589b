"""Lint a text in a test: findings by line, by code, by severity."""

from pathlib import Path

import pytest

from speccompose.lint.check import lint_text
from speccompose.lint.noted import Ground
from speccompose.plan.resolve import resolve_named
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.finding import Severity
from speccompose.vocab.lint import LintFinding

DATA = Path(__file__).resolve().parent / "data"


class Linter:
    """The rules with the shipped catalog; a board is named by id and L4T."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __call__(self, text: str, *board: str) -> tuple[LintFinding, ...]:
        device = None
        if board:
            device = resolve_named(board[0], (*board, None)[1], self.catalog)
        return lint_text(text, "compose.yaml", Ground(catalog=self.catalog, device=device))

    def errors(self, text: str, *board: str) -> set[str]:
        """Codes of all errors."""
        found = self(text, *board)
        return {each.code for each in found if each.severity == Severity.ERROR}

    def codes(self, text: str, *board: str) -> set[str]:
        """Codes of all findings."""
        return {each.code for each in self(text, *board)}


@pytest.fixture(scope="session")
def lint(catalog: Catalog) -> Linter:
    return Linter(catalog)


def service(image: str, *lines: str) -> str:
    """A file with one service that has nothing but an image and these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"services:\n  llm:\n    image: {image}\n{body}"


def upstream(*command: str, more: tuple[str, ...] = ()) -> str:
    """One service of vLLM 0.27.1 with these arguments."""
    listed = ", ".join(f"'{word}'" for word in command)
    return service("vllm/vllm-openai:v0.27.1", "runtime: nvidia", f"command: [{listed}]", *more)


def llama(*command: str, more: tuple[str, ...] = ()) -> str:
    """One service of llama.cpp b10524 with these arguments."""
    listed = ", ".join(f"'{word}'" for word in command)
    image = "ghcr.io/ggml-org/llama.cpp:server-cuda13-b10524"
    volumes = "volumes: ['./models:/models:ro']"
    return service(image, "runtime: nvidia", volumes, f"command: [{listed}]", *more)
