"""What names the module, source by source, as the catalog modules it leaves possible.

Part of stage 2 of 7. Pure. The most trusted source that names a known board counts; later ones
only decide between what it leaves open (rules section 1).
"""

import re
from collections.abc import Iterable, Sequence

from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.device import DeviceProfile
from speccompose.vocab.facts import DetectedDevice, PartHint
from speccompose.vocab.finding import Finding, warning

_BOARD_LENGTH = len("p3767")


class Candidates(Frozen, frozen=True, kw_only=True):
    """Modules that are still possible, and the sources that left them so."""

    profiles: tuple[DeviceProfile, ...]
    sources: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def narrowed(self, profiles: Iterable[DeviceProfile], source: str) -> "Candidates":
        """Keep only ``profiles``; unchanged where that would leave none or drop none."""
        wanted = {profile.id for profile in profiles}
        kept = tuple(profile for profile in self.profiles if profile.id in wanted)
        if not kept or len(kept) == len(self.profiles):
            return self
        return Candidates(profiles=kept, sources=(*self.sources, source), findings=self.findings)


def by_parts(detected: DetectedDevice, catalog: Catalog) -> Candidates | None:
    """Modules by part number; None when no source names a board id that the catalog has."""
    profiles = tuple(catalog.devices.values())
    hints = [hint for hint in detected.part_hints if _of_boards(profiles, hint.parts)]
    if not hints:
        return None
    trusted = _of_boards(profiles, hints[0].parts)
    exact = [(hint, _of_parts(trusted, hint.parts)) for hint in hints]
    known = [(hint, found) for hint, found in exact if found]
    if not known:
        return _unknown_sku(hints[0], trusted)
    first, modules = known[0]
    candidates = Candidates(
        profiles=modules,
        sources=(_cite(first),),
        findings=_disagreements(detected.part_hints, first, modules),
    )
    for hint, others in known[1:]:
        candidates = candidates.narrowed(others, _cite(hint))
    return candidates


def by_model_text(detected: DetectedDevice, profiles: Sequence[DeviceProfile]) -> Candidates | None:
    """Modules whose words stand in the model text; neither 'NVIDIA' nor 'Jetson' is needed."""
    named = named_by_model(detected.model_text, profiles)
    if not named:
        return None
    return Candidates(profiles=named, sources=(f"model text '{detected.model_text}'",))


def named_by_model(
    model_text: str | None, profiles: Sequence[DeviceProfile]
) -> tuple[DeviceProfile, ...]:
    """Profiles of which all words or phrases stand in the text; the most words win."""
    text = f" {' '.join(re.findall(r'[a-z0-9]+', (model_text or '').lower()))} "
    scores = {
        profile.id: max((_score(phrases, text) for phrases in profile.model_words), default=0)
        for profile in profiles
    }
    best = max(scores.values(), default=0)
    return tuple(profile for profile in profiles if best and scores[profile.id] == best)


def _score(phrases: Sequence[str], text: str) -> int:
    """How many words a set of phrases has, if all of them stand in the text; else 0."""
    if not all(f" {phrase} " in text for phrase in phrases):
        return 0
    return sum(len(phrase.split()) for phrase in phrases)


def _of_boards(
    profiles: Iterable[DeviceProfile], parts: Sequence[str]
) -> tuple[DeviceProfile, ...]:
    """Profiles that carry any of the board ids ('p3767') of these parts."""
    boards = {part[:_BOARD_LENGTH] for part in parts}
    return tuple(profile for profile in profiles if boards & _boards(profile))


def _of_parts(profiles: Iterable[DeviceProfile], parts: Sequence[str]) -> tuple[DeviceProfile, ...]:
    """Profiles that carry any of these part numbers."""
    return tuple(profile for profile in profiles if set(parts) & set(profile.part_numbers))


def _boards(profile: DeviceProfile) -> set[str]:
    return {*profile.boards, *(part[:_BOARD_LENGTH] for part in profile.part_numbers)}


def _cite(hint: PartHint) -> str:
    return f"{hint.source} {', '.join(hint.parts)}"


def _unknown_sku(hint: PartHint, profiles: tuple[DeviceProfile, ...]) -> Candidates:
    """All modules of a known board id whose SKU the catalog does not have."""
    families = " or ".join(dict.fromkeys(profile.family for profile in profiles))
    finding = warning(
        "unknown_sku",
        f"{_cite(hint)} is no SKU of the catalog; its board id says {families}, "
        "and MemTotal sizes the plan",
        hint="add its profile under ./profiles/devices",
        source="rules section 1",
    )
    return Candidates(profiles=profiles, sources=(_cite(hint),), findings=(finding,))


def _disagreements(
    hints: Sequence[PartHint], first: PartHint, modules: tuple[DeviceProfile, ...]
) -> tuple[Finding, ...]:
    """Sources that name none of the modules that the trusted one names."""
    known = {part for profile in modules for part in profile.part_numbers}
    others = [hint for hint in hints if hint is not first and not known & set(hint.parts)]
    if not others:
        return ()
    return (
        warning(
            "sku_sources_differ",
            f"{_cite(first)} names another module than {' and '.join(map(_cite, others))}; "
            f"{first.source} counts",
            source="rules section 1",
        ),
    )
