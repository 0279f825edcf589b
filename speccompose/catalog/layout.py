"""Which file holds what: the kinds of data, their folders, and the type each becomes.

Layer: catalog. The one table that ``sources``, ``schema``, ``compile`` and the tests go by.
"""

from collections.abc import Mapping
from typing import Final

from speccompose.vocab.base import Frozen
from speccompose.vocab.device import DeviceProfile, ReleaseRow, SocProfile
from speccompose.vocab.engine import EngineEntry, EngineTables
from speccompose.vocab.image import ImageEntry
from speccompose.vocab.method import MethodEntry
from speccompose.vocab.model import ModelEntry


class ReleasesFile(Frozen, frozen=True, kw_only=True):
    """profiles/releases.yaml: every L4T release, oldest first."""

    releases: tuple[ReleaseRow, ...]


class SocsFile(Frozen, frozen=True, kw_only=True):
    """profiles/socs.yaml: the systems on chip."""

    socs: tuple[SocProfile, ...]


DataFile = (
    ReleasesFile
    | SocsFile
    | DeviceProfile
    | ImageEntry
    | ModelEntry
    | MethodEntry
    | EngineEntry
    | EngineTables
)

KINDS: Final[Mapping[str, type[DataFile]]] = {
    "release": ReleasesFile,
    "soc": SocsFile,
    "device": DeviceProfile,
    "image": ImageEntry,
    "model": ModelEntry,
    "method": MethodEntry,
    "engine": EngineEntry,
    "flag": EngineTables,
}
TABLE_FILES: Final[Mapping[str, str]] = {"releases.yaml": "release", "socs.yaml": "soc"}
"""Files under profiles/ that hold a whole table; id of such a file is its stem."""

FOLDERS: Final[Mapping[str, str]] = {
    "devices": "device",
    "models": "model",
    "methods": "method",
    "engines": "engine",
    "flags": "flag",
}
"""Folders under profiles/ with one <id>.yaml per entry."""

UNUSED_FOLDERS: Final = ("rollouts", "boot_faults")
"""Folders under profiles/ that other parts of the program read."""

IMAGE_FILE: Final = "image.yaml"
"""The file in images/<id>/ ."""
