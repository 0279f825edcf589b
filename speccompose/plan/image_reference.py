"""Turns an image reference as text into its parts, and into what its tag gives away.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure. A tag is read for what
it says in so many words (version, CUDA, L4T era); what it does not say is unknown, never guessed.
"""

import re

from speccompose.errors import UsageError
from speccompose.vocab.base import Frozen
from speccompose.vocab.image import EngineName

_REFERENCE = re.compile(
    r"^(?P<repository>[a-z0-9]+(?:[._-][a-z0-9]+)*(?::[0-9]+(?=/))?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?$"
)
_VLLM_VERSION = re.compile(
    r"^v?(?P<version>\d+\.\d+(?:\.\d+)?(?:\.post\d+)?)(?P<pre>(?:rc|a|b|\.?dev)\d+.*)?$"
)
_LLAMA_BUILD = re.compile(r"^b\d{3,6}$")
_CUDA = re.compile(r"(?<![a-z0-9])cu(?:da)?(?P<major>\d{2})(?P<minor>\d)?(?!\d)")
_L4T_ERA = re.compile(r"(?<![a-z0-9])r(?P<major>3\d)(?:\.(?P<minor>\d+))?(?![0-9])")
_AMD64 = re.compile(r"(?<![a-z0-9])(?:amd64|x86_64|x86-64)(?![a-z0-9])")
_ARM64 = re.compile(r"(?<![a-z0-9])(?:arm64|aarch64)(?![a-z0-9])")


class ImageReference(Frozen, frozen=True, kw_only=True):
    """registry/repository:tag@digest; Docker Hub's own prefixes are taken off ``repository``."""

    text: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def words(self) -> str:
        """All that people chose: repository and tag, without the digest."""
        return f"{self.repository}:{self.tag}" if self.tag else self.repository


class TagVersion(Frozen, frozen=True, kw_only=True):
    """The engine version that a tag spells out.

    ``variant`` is what stands before it ('server-cuda13' of 'server-cuda13-b10524'): another
    variant is another image. A pre-release precedes the version it is named after.
    """

    version: str
    variant: str = ""
    prerelease: bool = False


def parse_reference(text: str) -> ImageReference:
    """Take an image reference apart.

    Raises:
        UsageError: the text is no image reference.
    """
    match = _REFERENCE.match(text.strip())
    if match is None:
        raise UsageError(
            f"--image: not an image reference: {text!r}",
            ["wanted registry/repository:tag, or the same with @sha256:<64 hex digits>"],
            hint="for example vllm/vllm-openai:v0.27.1, or an id of `speccompose catalog list`",
            code="image_reference",
        )
    return ImageReference(
        text=text.strip(),
        repository=short_repository(match["repository"]),
        tag=match["tag"],
        digest=match["digest"],
    )


def short_repository(repository: str) -> str:
    """Return a repository without the prefixes that Docker adds to names on its own hub."""
    for prefix in ("docker.io/", "index.docker.io/", "registry-1.docker.io/", "library/"):
        repository = repository.removeprefix(prefix)
    return repository


def tag_version(tag: str, engine: EngineName) -> TagVersion | None:
    """Return the engine version in a tag, or None when the tag names none.

    vLLM tags begin with it (v0.27.1-cu129, 0.19.0-r36.4...); llama.cpp tags carry a build number
    as a word of its own (server-cuda13-b10524). 'latest', 'nightly', 'gemma4' name no version.
    """
    tokens = tag.split("-")
    if engine == "vllm":
        match = _VLLM_VERSION.match(tokens[0])
        if match is None:
            return None
        return TagVersion(version=match["version"], prerelease=match["pre"] is not None)
    for index, token in enumerate(tokens):
        if _LLAMA_BUILD.match(token):
            return TagVersion(version=token, variant="-".join(tokens[:index]))
    return None


def tag_cuda(tag: str) -> tuple[int, int | None] | None:
    """Return the CUDA version that a tag spells out ('cu126' -> 12, 6; 'cuda13' -> 13, None)."""
    match = _CUDA.search(tag)
    if match is None:
        return None
    return int(match["major"]), int(match["minor"]) if match["minor"] else None


def tag_architecture(tag: str) -> str | None:
    """Return the one architecture that a tag is bound to, or None."""
    if _AMD64.search(tag):
        return "x86_64"
    return "aarch64" if _ARM64.search(tag) else None


def never_on_thor(reference: str) -> str | None:
    """Return the word of a reference that bars it from Thor, whoever asked; None if none does.

    Rules section 2 and field case I-02 (GH dusty-nv/jetson-containers#1557): r32 to r36,
    jetson-orin, igpu. CUDA 12 knows Thor only as 10.1, which CUDA 13 renamed 11.0, so every
    CUDA 10 to 12 tag (cu126, cu128, cu129) is barred as well.
    """
    words = reference.partition("@")[0].lower()
    era = _L4T_ERA.search(words)
    if era is not None and int(era["major"]) <= 36:
        return era[0]
    for word in ("jetson-orin", "igpu"):
        if word in words:
            return word
    cuda = _CUDA.search(words)
    return cuda[0] if cuda is not None and int(cuda["major"]) < 13 else None


def is_orin_r36(reference: str) -> bool:
    """Whether a reference says that it was built for Orin on L4T 36 (not held to vLLM's floor)."""
    words = reference.partition("@")[0].lower()
    era = _L4T_ERA.search(words)
    return "jetson-orin" in words or (era is not None and int(era["major"]) == 36)


def outdated_era(tag: str) -> str | None:
    """Return the L4T word of a tag whose era no supported board runs: r32 to r35, r36.0 to r36.3.

    Images of 36.0 to 36.3 and of 36.4 do not mix (dusty-nv/jetson-containers l4t_version.py).
    """
    era = _L4T_ERA.search(tag.lower())
    if era is None or int(era["major"]) > 36:
        return None
    if int(era["major"]) == 36 and (era["minor"] is None or int(era["minor"]) >= 4):
        return None
    return era[0]
