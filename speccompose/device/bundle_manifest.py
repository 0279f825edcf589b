"""The text of a bundle's manifest.json becomes what a board acts on.

Layer: device (standard library, Python 3.8). Read only after its signature was checked, and yet
nothing in it is believed: names stay below their folders, hashes are hashes, and every content
that it uses stands in its list.
"""

from __future__ import annotations

import json
import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from speccompose.device.bundle_tar import bad_bundle
from speccompose.device.paths import digest_hex, is_stack_name
from speccompose.device.safe_name import name_fault
from speccompose.device.validity import Validity, parse_validity

MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
BLOBS = "blobs/"
MOST_BYTES = 16 * 1024 * 1024
VERSION = 1

_HEX = re.compile(r"[0-9a-f]{64}")
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
_MODES = (0o644, 0o755)


class Board(NamedTuple):
    """Which boards it is for; None where nothing is compared."""

    architecture: str
    soc: Optional[str]
    l4t_major: Optional[int]
    memory_mib: Optional[int]
    devices: Tuple[str, ...]


class Blob(NamedTuple):
    """One piece of content."""

    sha256: str
    size: int


class BundledStack(NamedTuple):
    """A stack folder: name -> (sha256, mode)."""

    name: str
    digest: str
    files: Dict[str, Tuple[str, int]]


class BundledImage(NamedTuple):
    """An image as `docker save` wrote it."""

    image_id: str
    reference: str
    sha256: str


class BundledWeights(NamedTuple):
    """A folder below models: name -> sha256."""

    directory: str
    repo: str
    revision: str
    requested: str
    whole: bool
    files: Dict[str, str]


class Manifest(NamedTuple):
    """All of it. ``blobs`` in the order of the archive."""

    validity: Validity
    counter: int
    board: Board
    blobs: Tuple[Blob, ...]
    stacks: Tuple[BundledStack, ...]
    images: Tuple[BundledImage, ...]
    weights: Tuple[BundledWeights, ...]

    @property
    def sizes(self) -> Dict[str, int]:
        """Bytes of each content."""
        return {blob.sha256: blob.size for blob in self.blobs}


def parse_manifest(text: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        DeviceError: status 3, naming what is wrong with it.
    """
    try:
        body = json.loads(text.decode("utf-8"))
        if _number(body["bundle"]) != VERSION:
            raise ValueError(f"bundle: {body['bundle']!r}; this program reads {VERSION}")
        manifest = Manifest(
            parse_validity(body["made"], body["expires"]),
            _number(body["counter"]),
            _board(body["board"]),
            tuple(_blob(item) for item in body["blobs"]),
            tuple(_stack(item) for item in body["stacks"]),
            tuple(_image(item) for item in body["images"]),
            tuple(_weights(item) for item in body["weights"]),
        )
        _must_be_whole(manifest)
        return manifest
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise bad_bundle(f"{MANIFEST}: {reason}") from None


def _must_be_whole(manifest: Manifest) -> None:
    """What is used is listed, once."""
    listed = [blob.sha256 for blob in manifest.blobs]
    used: List[str] = [image.sha256 for image in manifest.images]
    used += [sha256 for stack in manifest.stacks for sha256, _ in stack.files.values()]
    used += [sha256 for each in manifest.weights for sha256 in each.files.values()]
    if len(set(listed)) != len(listed) or set(used) != set(listed):
        raise ValueError("blobs: not exactly what stacks, images and weights use")
    names = [stack.name for stack in manifest.stacks]
    if not names or len(set(names)) != len(names):
        raise ValueError("stacks: wanted at least one, and each name once")


def _board(body: Dict[str, object]) -> Board:
    soc, major, memory = body["soc"], body["l4t_major"], body["memory_mib"]
    devices = body["devices"]
    if not isinstance(devices, list):
        raise ValueError("board: devices: wanted a list")
    return Board(
        _text(body["architecture"]),
        None if soc is None else _text(soc),
        None if major is None else _number(major),
        None if memory is None else _number(memory),
        tuple(_text(item) for item in devices),
    )


def _blob(body: Dict[str, object]) -> Blob:
    return Blob(_hex(body["sha256"]), _number(body["size"]))


def _stack(body: Dict[str, Dict[str, Dict[str, object]]]) -> BundledStack:
    name, digest = _text(body["name"]), _text(body["digest"])
    if not is_stack_name(name):
        raise ValueError(f"stacks: {name!r} names no stack")
    digest_hex(digest)
    files: Dict[str, Tuple[str, int]] = {}
    for file, item in body["files"].items():
        mode = _number(item["mode"])
        if "/" in _safe(file) or mode not in _MODES:
            raise ValueError(f"stacks: {name}: {file!r} is no plain file of a stack")
        files[file] = (_hex(item["sha256"]), mode)
    return BundledStack(name, digest, files)


def _image(body: Dict[str, object]) -> BundledImage:
    image_id = _text(body["image_id"])
    if _IMAGE_ID.fullmatch(image_id) is None:
        raise ValueError(f"images: no id: {image_id[:80]!r}")
    return BundledImage(image_id, _text(body["reference"]), _hex(body["sha256"]))


def _weights(body: Dict[str, Dict[str, Dict[str, object]]]) -> BundledWeights:
    files = {_safe(name): _hex(item["sha256"]) for name, item in body["files"].items()}
    whole: object = body["whole"]
    if not isinstance(whole, bool) or not files:
        raise ValueError("weights: wanted files, and whether they are all")
    texts = [_text(body[key]) for key in ("directory", "repo", "revision", "requested")]
    if "/" in _safe(texts[0]) or texts[0].startswith("."):
        raise ValueError(f"weights: {texts[0]!r} is no folder below models")
    if any(name.split("/", 1)[0].startswith(".") for name in files):
        raise ValueError(f"weights: {texts[0]}: a hidden file")
    return BundledWeights(texts[0], texts[1], texts[2], texts[3], whole, files)


def _safe(name: str) -> str:
    fault = name_fault(name)
    if fault is not None:
        raise ValueError(f"{name!r}: {fault}")
    return name


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"wanted text, found {value!r}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"wanted a whole number, found {value!r}")
    return value


def _hex(value: object) -> str:
    if not isinstance(value, str) or _HEX.fullmatch(value) is None:
        raise ValueError(f"wanted a sha256, found {value!r}")
    return value
