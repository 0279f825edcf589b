"""`--runtime native`: the vLLM that is installed on the board becomes the only image there is.

Pure. Beside stage 3 of 7, before it. Rules section 2: on Thor a host-installed vLLM >= 0.20 serves
in place of a container, with the same plan, checks and gates. So the host's vLLM is described as a
build of the upstream image of its version, and every later stage judges it as it would that one.
"""

import msgspec

from speccompose.errors import ImageError, UsageError
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import RawFacts, ResolvedDevice
from speccompose.vocab.finding import warning
from speccompose.vocab.image import Build, ImageEntry
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.request import StackRequest
from speccompose.vocab.versions import version_key

VERSION_FACT = "vllm --version"
PATH_FACT = "command -v vllm"
"""The two commands of a facts file that tell what is installed."""

NATIVE_IMAGE = "vllm-native"
REFERENCE = "host:"
"""Begins what stands in an image reference's place: host:/opt/vllm/bin/vllm@0.27.1."""

FLOOR = "0.20"
DEFAULT_PATH = "/usr/local/bin/vllm"
_FAMILY = "thor"
_SOURCE = "rules section 2"


def is_native(request: StackRequest) -> bool:
    """Whether no container is asked for."""
    return request.runtime == "native"


def native_catalog(
    request: StackRequest, device: ResolvedDevice, facts: RawFacts | None, catalog: Catalog
) -> Catalog:
    """The catalog with the host's vLLM in place of all images.

    Without facts (--device) the newest version with evidence on Thor is assumed; the unit refuses
    to start another one.

    Raises:
        UsageError: 2, with options that are a container's or another engine's.
        ImageError: 5, elsewhere than on Thor, without vLLM, or with one below the floor.
    """
    if request.image is not None:
        raise _conflict(f"--image {request.image} is a container's")
    if request.engine == "llama.cpp":
        raise _conflict("--engine llama.cpp runs in its container only")
    if device.family != _FAMILY:
        raise ImageError(
            f"--runtime native is for Thor; this is {device.profile.name}",
            hint="leave --runtime away: a container serves here",
            code="native_elsewhere",
            source=_SOURCE,
        )
    upstream = _upstream(catalog)
    version, path = _installed(facts, upstream)
    image = _described(upstream, version, path)
    return msgspec.structs.replace(catalog, images={NATIVE_IMAGE: image})


def with_native_findings(plan: StackPlan, facts: RawFacts | None) -> StackPlan:
    """What a native plan has to say beside a container's."""
    if facts is not None:
        return plan
    assumed = warning(
        "native_version_assumed",
        f"vLLM {plan.choice.build.version} at {plan.entrypoint[0]} is assumed on the board",
        hint="plan with the board's facts (speccompose detect --save); another version is refused "
        "when it starts",
        source=_SOURCE,
    )
    return msgspec.structs.replace(plan, findings=(*plan.findings, assumed))


def _installed(facts: RawFacts | None, upstream: ImageEntry) -> tuple[str, str]:
    if facts is None:
        proved = [b for b in upstream.builds if b.automatic and _FAMILY in b.evidence_on]
        return (proved or list(upstream.builds))[-1].version, DEFAULT_PATH
    words = facts.commands.get(VERSION_FACT, "").split()
    if not words:
        raise ImageError(
            "no vLLM is installed on this board",
            hint="install it (pip install vllm, as root or in a virtual environment whose vllm "
            "is in PATH), or leave --runtime away",
            code="native_missing",
            source=_SOURCE,
        )
    version = words[-1].lstrip("v").split("+")[0]
    if version_key(version) < version_key(FLOOR):
        raise ImageError(
            f"the vLLM on this board is {version}; Thor needs {FLOOR} or newer",
            hint="upgrade it, or leave --runtime away",
            code="native_too_old",
            source=_SOURCE,
        )
    return version, facts.commands.get(PATH_FACT, "").strip() or DEFAULT_PATH


def _upstream(catalog: Catalog) -> ImageEntry:
    """The image whose builds are vLLM's own releases for Thor: the one that is taken first."""
    images = [
        image
        for image in catalog.images.values()
        if image.engine == "vllm"
        and any(_FAMILY in row.families and row.automatic for row in image.runs_on)
    ]
    return min(images, key=lambda image: image.rank)


def _described(upstream: ImageEntry, version: str, path: str) -> ImageEntry:
    """As the newest catalog build that is not newer than it; what works there is what it said."""
    older = [b for b in upstream.builds if version_key(b.version) <= version_key(version)]
    like: Build = (older or list(upstream.builds[:1]))[-1]
    exact = like.version == version
    build = msgspec.structs.replace(
        like,
        version=version,
        version_evidence="seen",
        reference=f"{REFERENCE}{path}@{version}",
        digest=None,
        floating=False,
        automatic=True,
        evidence_on=like.evidence_on if exact else (),
    )
    rows = tuple(
        msgspec.structs.replace(row, families=(_FAMILY,))
        for row in upstream.runs_on
        if _FAMILY in row.families
    )
    return msgspec.structs.replace(
        upstream,
        id=NATIVE_IMAGE,
        name="vLLM, installed on this board",
        runs_on=rows,
        own_entrypoint=(path, "serve"),
        entrypoint=(path, "serve"),
        user=None,
        read_only=False,
        download_mib=0,
        repositories=(),
        builds=(build,),
    )


def _conflict(brief: str) -> UsageError:
    hint = "drop it, or leave --runtime native away"
    return UsageError(brief, hint=hint, code="native_conflict")
