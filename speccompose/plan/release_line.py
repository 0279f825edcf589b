"""Release file and packages become an exact L4T triple, or none.

Part of stage 1 of 7. Pure. Order of trust (rules section 1): the release file, then the
nvidia-l4t-core package. The kernel string is judged in stage 2, against the release table. BOARD,
GCID and DATE of the line are never used to decide anything: BOARD says t186ref on Orin, one
release has several GCIDs, and R39 writes a 12-hour date.
"""

import re

from speccompose.vocab.base import Frozen
from speccompose.vocab.facts import L4tOrigin, RawFacts
from speccompose.vocab.finding import Finding, warning

RELEASE_FILE = "/etc/nv_tegra_release"
CORE_PACKAGE = "nvidia-l4t-core"
JETPACK_PACKAGE = "nvidia-jetpack"

_LINE = re.compile(r"R([0-9]{1,3}) *\(release\), *REVISION: *([0-9]{1,3})(?:\.([0-9]{1,3}))?", re.I)
_ARTIFICIAL = re.compile(r"GCID: *12345678\b")
_CORE_VERSION = re.compile(r"(?<![0-9.])([0-9]{2,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?(?=[-+~\s]|$)")
_JETPACK_VERSION = re.compile(r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]{1,2}){1,3})(?=[-+~\s]|$)")


class L4tReading(Frozen, frozen=True, kw_only=True):
    """What the board says of its L4T, and where it says so."""

    l4t: str | None
    origin: L4tOrigin | None
    present: bool
    jetpack_package: str | None
    evidence: tuple[str, ...]
    findings: tuple[Finding, ...]


def read_l4t(facts: RawFacts) -> L4tReading:
    """Take the triple from the release file, else from the package."""
    text = facts.files.get(RELEASE_FILE)
    line = _triple(_LINE, text or "")
    package = _triple(_CORE_VERSION, package_version(facts, CORE_PACKAGE) or "")
    jetpack = _JETPACK_VERSION.search(package_version(facts, JETPACK_PACKAGE) or "")
    evidence = []
    if line is not None:
        evidence.append(f"{RELEASE_FILE}: L4T {line}")
    if package is not None:
        evidence.append(f"package {CORE_PACKAGE}: L4T {package}")
    origin: L4tOrigin | None = None
    if line is not None:
        origin = "release file"
    elif package is not None:
        origin = "package"
    return L4tReading(
        l4t=line or package,
        origin=origin,
        present=text is not None or package is not None,
        jetpack_package=jetpack.group(1) if jetpack else None,
        evidence=tuple(evidence),
        findings=_findings(text, line, package),
    )


def package_version(facts: RawFacts, package: str) -> str | None:
    """Version text of a Debian package out of any recorded dpkg-query output; None if absent."""
    for command, output in facts.commands.items():
        if not command.startswith("dpkg"):
            continue
        for line in output.splitlines():
            words = line.split()
            if package in words:
                return " ".join(words[words.index(package) + 1 :])
            if words and package in command.split() and len(words) == 1:
                return words[0]
    return None


def _triple(pattern: re.Pattern[str], text: str) -> str | None:
    """Three numbers with dots; a missing patch is 0."""
    match = pattern.search(text)
    if match is None:
        return None
    return ".".join(str(int(part or "0")) for part in match.groups())


def _findings(text: str | None, line: str | None, package: str | None) -> tuple[Finding, ...]:
    """What is odd about the sources."""
    found = []
    if text is not None and line is None:
        found.append(
            warning(
                "release_file_unreadable",
                f"{RELEASE_FILE} is there but names no release",
                hint="its first line should read '# R36 (release), REVISION: 4.3, ...'",
            )
        )
    if text is not None and _ARTIFICIAL.search(text):
        found.append(
            warning(
                "container_facts",
                f"{RELEASE_FILE} is an artificial one (GCID 12345678): read in a container?",
                hint="run detect on the host; a container shows its base image's release",
                source="dusty-nv/jetson-containers jetson_containers/l4t_version.py",
            )
        )
    if line is not None and package is not None and line != package:
        found.append(
            warning(
                "l4t_sources_differ",
                f"the release file says L4T {line}, package {CORE_PACKAGE} says {package}; "
                "the release file counts",
                hint="finish the apt upgrade, then reboot",
            )
        )
    return tuple(found)
