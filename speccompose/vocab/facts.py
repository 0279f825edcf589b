"""A board as it was read, as it was understood, and as it was matched with the catalog.

Layer: vocab. RawFacts -> DetectedDevice -> ResolvedDevice (stages 1 and 2).
"""

from collections.abc import Mapping
from typing import Literal

from speccompose.vocab.base import Frozen
from speccompose.vocab.device import DeviceProfile, Family, ReleaseRow, SocProfile
from speccompose.vocab.finding import Decision, Finding

L4tOrigin = Literal["release file", "package", "kernel", "assumed", "device default"]


class RawFacts(Frozen, frozen=True, kw_only=True):
    """Texts exactly as read from a board (the contract's facts file)."""

    origin: str
    files: Mapping[str, str] = {}
    commands: Mapping[str, str] = {}


class PartHint(Frozen, frozen=True, kw_only=True):
    """Module part numbers one source names, in the order of trust."""

    source: Literal["compatible", "eeprom", "tnspec", "dtb"]
    parts: tuple[str, ...]
    text: str


class DetectedDevice(Frozen, frozen=True, kw_only=True):
    """What the texts say, parsed; nothing looked up yet."""

    origin: str
    architecture: str | None
    is_tegra: bool
    is_spark: bool
    soc_hint: str | None
    part_hints: tuple[PartHint, ...]
    model_text: str | None
    l4t: str | None
    l4t_origin: L4tOrigin | None
    kernel: str | None
    gpu_name: str | None
    ubuntu: str | None
    power_mode: str | None
    mem_total_mib: int | None
    mem_available_mib: int | None
    mem_free_mib: int | None
    evidence: tuple[str, ...]
    jetpack_package: str | None = None
    findings: tuple[Finding, ...] = ()


class ResolvedDevice(Frozen, frozen=True, kw_only=True):
    """The board matched with the catalog: everything later stages decide on.

    ``memory_mib`` is MemTotal (or the profile's, with --device); ``available_mib`` is what a
    stack may use before headroom.
    """

    profile: DeviceProfile
    soc: SocProfile
    release: ReleaseRow | None
    l4t: str | None
    l4t_origin: L4tOrigin | None
    jetpack: str | None
    cuda: str | None
    memory_mib: int
    available_mib: int
    os_reserve_mib: int
    from_profile: bool
    power_mode: str | None = None
    kernel: str | None = None
    evidence: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def id(self) -> str:
        """Catalog id of the module."""
        return self.profile.id

    @property
    def family(self) -> Family:
        """Family that image and speculation rules hang on."""
        return self.profile.family

    @property
    def is_jetson(self) -> bool:
        """Whether L4T runs it: host networking, the nvidia runtime, nvpmodel."""
        return self.profile.soc.startswith("tegra")
