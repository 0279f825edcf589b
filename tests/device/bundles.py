"""Bundles made by hand, with the program's own writer: what the board's tests take and break."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from speccompose.device.command import Completed
from speccompose.device.paths import Roots
from speccompose.device.signature import Trust
from speccompose.device.signed_release import release_files
from speccompose.device.unbundle import Rules, Unbundled, unbundle
from speccompose.device.validity import Validity, told
from speccompose.vocab.bundle import (
    BundledBoard,
    BundledFile,
    BundledImage,
    BundledStack,
    BundledWeights,
    BundleManifest,
    StackFile,
)
from speccompose.world.bundle_file import manifest_text, write_bundle
from tests.device.fakes import FakeDocker, image_id, ok
from tests.signing_keys import Key

NOW = 1_800_000_000.0
DAY = 86400.0
REFERENCE = "site/engine:1"
IMAGE_ID = image_id(REFERENCE)
SAVED = b"what docker save wrote " * 100
WEIGHTS = {"config.json": b"{}", "model.safetensors": b"\0" * 5000, "deep/one.json": b"[]"}
COMMIT = "c" * 40
DIRECTORY = f"o--m@{COMMIT[:12]}"
HOLDS = Validity(NOW, NOW + 10 * DAY)
JETSON = BundledBoard(
    architecture="arm64",
    soc="tegra234",
    l4t_major=36,
    memory_mib=60000,
    devices=("agx-orin-64gb",),
)


@dataclass
class LoadingDocker(FakeDocker):
    """Takes what is loaded, and knows then the image that was saved in it."""

    loaded: list[bytes] = field(default_factory=list)
    keeps: str = REFERENCE

    def stream(self, argv: Sequence[str], on_text: object, stall_s: float | None) -> Completed:
        words = tuple(argv)
        assert words[:3] == ("docker", "load", "--input"), words
        self.loaded.append(Path(words[3]).read_bytes())
        if self.loaded[-1] != SAVED:
            return Completed(words, 1, "", "invalid tar header")
        self.images[self.keeps] = "arm64"
        return ok(words, f"Loaded image ID: {IMAGE_ID}\n")


@dataclass
class Bundle:
    """A bundle before it is written: change any part, then write."""

    stack: Path
    key: Key | None
    counter: int = 3
    validity: Validity = HOLDS
    board: BundledBoard = JETSON
    weights: dict[str, bytes] = field(default_factory=lambda: dict(WEIGHTS))
    image: bytes = SAVED
    contents: dict[str, bytes] = field(default_factory=dict)

    def blob(self, content: bytes) -> BundledFile:
        found = BundledFile(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        self.contents[found.sha256] = content
        return found

    def manifest(self) -> BundleManifest:
        image = self.blob(self.image)
        weights = {name: self.blob(content) for name, content in self.weights.items()}
        rendered = {path.name: path.read_bytes() for path in self.stack.iterdir()}
        files = release_files(rendered, counter=self.counter, validity=self.validity)
        plan = json.loads(rendered["plan.json"])
        stack = {name: self.blob(content) for name, content in files.items()}
        return BundleManifest(
            bundle=1,
            program="0.0.0",
            made=told(self.validity.made_s),
            expires=told(self.validity.expires_s),
            counter=self.counter,
            board=self.board,
            blobs=tuple(self.blob(content) for content in self.contents.values()),
            stacks=(
                BundledStack(
                    name=plan["name"],
                    digest=plan["digest"],
                    files={n: StackFile(sha256=b.sha256, mode=0o644) for n, b in stack.items()},
                ),
            ),
            images=(
                BundledImage(
                    image_id=IMAGE_ID, reference=REFERENCE, sha256=image.sha256, size=image.size
                ),
            ),
            weights=(
                BundledWeights(
                    directory=DIRECTORY,
                    repo="o/m",
                    revision=COMMIT,
                    requested=COMMIT,
                    whole=True,
                    files=weights,
                ),
            ),
        )

    def write(self, file: Path, text: bytes | None = None, signature: bytes | None = None) -> Path:
        """Write it; ``text`` and ``signature`` in place of what it should be."""
        manifest = self.manifest()
        text = manifest_text(manifest) if text is None else text
        if signature is None and self.key is not None:
            signature = self.key.sign(text)
        write_bundle(file, text, signature, manifest.blobs, self.contents, lambda count: None)
        return file


@dataclass
class Site:
    """A sealed site: a board that knows one signer, and a way to make bundles for it."""

    board: object
    docker: LoadingDocker
    key: Key
    folder: Path

    @property
    def roots(self) -> Roots:
        return self.board.roots

    @property
    def place(self) -> Path:
        return self.folder / "site.bundle"

    def bundle(self, **changes: object) -> Bundle:
        """A bundle of this board's stack, image by id, weights at their commit."""
        plan = {
            "downloads": [
                {
                    "role": "target",
                    "repo": "o/m",
                    "file": None,
                    "directory": DIRECTORY,
                    "mib": 1,
                    "bundled": None,
                    "revision": COMMIT,
                }
            ]
        }
        stack = self.board.write(image=IMAGE_ID, changes=plan)
        return Bundle(**{"stack": stack, "key": self.key, **changes})

    def take(self, file: Path, *, trust: Trust | None = None, older: bool = False) -> Unbundled:
        return unbundle(
            file,
            self.roots,
            ports=self.board.ports,
            rules=Rules(trust or self.key.trust, older),
            say=self.board.said.append,
            stream=self.docker.stream,
        )

    def left(self) -> list[str]:
        """What stands on the board because of a bundle, or lies about."""
        trees = (self.roots.models, self.roots.state / "incoming")
        found = [path for tree in trees for path in tree.rglob("*") if path.is_file()]
        names = [str(path.relative_to(self.roots.state)) for path in found]
        return sorted(name for name in names if "tests--" not in name and ".lock" not in name)
