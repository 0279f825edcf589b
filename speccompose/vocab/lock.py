"""speccompose.lock: what tags and revisions meant when somebody looked.

Layer: vocab. Written by `speccompose lock`, read by every plan. A digest and a commit mean the
same tomorrow; an image id is what a sealed site gets, where a digest cannot be met
(GH moby/moby#43570).
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from speccompose.vocab.base import Frozen

Sha256 = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
Hex64 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
Hex40 = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}$")]
Commit = Annotated[str, Meta(pattern=r"^[0-9A-Za-z]{4,64}$")]


class LockedImage(Frozen, frozen=True, kw_only=True):
    """One platform's image behind a tag: its manifest's digest, and its own id."""

    digest: Sha256
    image_id: Sha256
    architecture: Literal["arm64", "amd64"]


class LockedFile(Frozen, frozen=True, kw_only=True):
    """One file of a repo at a commit; hubs give the sha256 of large files, git's id of others."""

    size: int | None = None
    sha256: Hex64 | None = None
    blob_id: Hex40 | None = None


class LockedModel(Frozen, frozen=True, kw_only=True):
    """A repo's revision as a commit, with the files that were there."""

    revision: str
    commit: Commit
    files: Mapping[str, LockedFile] = {}


class Lock(Frozen, frozen=True, kw_only=True):
    """The file. Images by reference as the catalog or --image names it, models by repo."""

    lock: Literal[1]
    images: Mapping[str, LockedImage] = {}
    models: Mapping[str, LockedModel] = {}
