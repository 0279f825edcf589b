"""What an engine is to the rest of the program, and what its argument list is made from.

Layer: engines. One file per server implements it; ``engines.ENGINES`` is the whole registry.
"""

from collections.abc import Mapping
from typing import Protocol

from speccompose.vocab.base import Frozen, Port
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageChoice
from speccompose.vocab.model import ModelEntry
from speccompose.vocab.plan import MemoryPlan, SpeculationPlan
from speccompose.vocab.request import StackRequest


class EngineInputs(Frozen, frozen=True, kw_only=True):
    """Everything decided that an argument list needs.

    ``host`` is the listen address inside the container; ``api_key_path`` the folder that holds
    the engine's own key file (``Engine.key_file``), mounted read-only, or None.
    """

    device: ResolvedDevice
    choice: ImageChoice
    model: ModelEntry
    speculation: SpeculationPlan
    memory: MemoryPlan
    request: StackRequest
    engine: EngineEntry
    port: Port
    host: str
    target_path: str
    draft_path: str
    api_key_path: str | None
    served_name: str

    @property
    def version(self) -> str:
        """Engine version of the chosen build."""
        return self.choice.build.version


class Engine(Protocol):
    """One server: how it is called, asked for health, and counted."""

    @property
    def counters_prefix(self) -> str:
        """What the names of its speculation counters start with."""

    @property
    def version_path(self) -> str:
        """Where it tells its own version."""

    @property
    def key_file(self) -> str:
        """Name of the file it reads its API key from, inside the secrets folder."""

    @property
    def owned_flags(self) -> Mapping[str, str]:
        """Flags that a plan option owns, each with what to use instead of --set."""

    def command(self, inputs: EngineInputs) -> tuple[str, ...]:
        """The arguments after the entrypoint, one item per word.

        Raises:
            ImageError: status 5; a flag that this version does not take.
            UsageError: status 2; --set names a flag that a plan option owns.
        """

    def environment(self, inputs: EngineInputs) -> Mapping[str, str]:
        """Environment of the container, without secrets and without empty values."""

    def health_test(self, inputs: EngineInputs) -> tuple[str, ...]:
        """The health check in Compose's form, with a tool that the image has."""
