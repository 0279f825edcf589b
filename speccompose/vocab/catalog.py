"""The catalog: all facts, frozen, looked up by id.

Layer: vocab. Made by catalog/, read by plan/ and engines/.
"""

from collections.abc import Mapping

from speccompose.vocab.base import Frozen
from speccompose.vocab.device import DeviceProfile, ReleaseRow, SocProfile
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.lock import Lock
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import ModelEntry


class Catalog(Frozen, frozen=True, kw_only=True):
    """Every table, keyed by id; ``overlays`` names the users' files that replaced shipped ones,
    ``lock`` is what speccompose.lock pins."""

    releases: tuple[ReleaseRow, ...]
    socs: Mapping[str, SocProfile]
    devices: Mapping[str, DeviceProfile]
    images: Mapping[str, ImageEntry]
    models: Mapping[str, ModelEntry]
    methods: Mapping[str, MethodEntry]
    engines: Mapping[str, EngineEntry]
    templates: Mapping[str, str]
    overlays: tuple[str, ...] = ()
    lock: Lock | None = None
