"""The images that a lab's registry holds: stubs in every GPU image's place, and the real CPU one.

A stub is Python, the scripted server and an engine's name. Its image says that it is for the
board's processor, because the board plays one; what runs is this machine's code. One image per
mode, all of the same layers, so that each has a digest of its own and costs nothing.
"""

import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tests.lab.outer import docker
from tests.lab.registry_client import Layer, RegistryClient, pack

HERE = Path(__file__).resolve().parent
_FIXED = 1_700_000_000
_LIST_PYTHON = """
import os, subprocess, sys, sysconfig
lib = sysconfig.get_path("stdlib")
unused = {"test", "idlelib", "ensurepip", "tkinter", "turtledemo", "pydoc_data", "dist-packages"}
real = os.path.realpath("/usr/bin/python3")
found, binaries = ["/usr/bin/python3", real], [real]
for folder, names, files in os.walk(lib):
    names[:] = [n for n in names if n not in unused]
    for name in files:
        path = os.path.join(folder, name)
        found.append(path)
        if ".so" in name:
            binaries.append(path)
text = subprocess.run(["ldd", *binaries], capture_output=True, text=True).stdout
for word in text.split():
    if word.startswith("/") and ".so" in word and not word.endswith(":"):
        found += [word, os.path.realpath(word)]
# /lib and its like are links into /usr: a layer may hold the link or a folder, not both.
whole = {os.path.join(os.path.realpath(os.path.dirname(p)), os.path.basename(p)) for p in found}
links = [p for p in ("/lib", "/lib64", "/bin", "/sbin") if os.path.islink(p)]
print("\\n".join(sorted(p.lstrip("/") for p in whole.union(links))))
"""


def push_stub(
    registry: RegistryClient,
    repository: str,
    tag: str,
    *,
    layers: list[Layer],
    mode: str,
    version: str,
    counters: bool,
) -> str:
    """Push one stub; returns its digest."""
    environment = {
        "STUB_MODE": mode,
        "STUB_VERSION": version,
        "STUB_COUNTERS": "1" if counters else "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return registry.push(repository, tag, layers, architecture="arm64", environment=environment)


def stub_layers(node_image: str, cache: Path) -> list[Layer]:
    """Python out of the node image, and the stub's own files."""
    return [_python_layer(node_image, cache), _stub_layer(cache)]


def cpu_layers(reference: str, cache: Path) -> list[Layer]:
    """The layers of an image that the outer Docker has."""
    image_id = docker("image", "inspect", "--format", "{{.Id}}", reference).strip()
    target = cache / f"image-{image_id.removeprefix('sha256:')[:16]}.tar.gz"
    if target.exists():
        return [pack(target, target)]
    with tempfile.TemporaryDirectory() as scratch:
        saved = Path(scratch) / "image.tar"
        docker("save", "--output", str(saved), reference, timeout_s=300)
        with tarfile.open(saved) as archive:
            manifest = json.loads(archive.extractfile("manifest.json").read())
            names = manifest[0]["Layers"]
            if len(names) != 1:
                raise ValueError(f"{reference} has {len(names)} layers, one was expected")
            archive.extract(names[0], scratch, filter="data")
        return [pack(Path(scratch) / names[0], target)]


def _python_layer(node_image: str, cache: Path) -> Layer:
    recipe = hashlib.sha256(f"{node_image}{_LIST_PYTHON}".encode()).hexdigest()[:12]
    target = cache / f"python-{recipe}.tar.gz"
    if target.exists():
        return pack(target, target)
    script = 'python3 -c "$1" >/tmp/list && tar -C / -cf - --no-recursion -T /tmp/list'
    with tempfile.NamedTemporaryFile(dir=cache) as tar:
        subprocess.run(
            [
                *("docker", "run", "--rm", "--network", "none", "--entrypoint", "sh", node_image),
                *("-c", script, "sh", _LIST_PYTHON),
            ],
            stdout=tar,
            check=True,
        )
        return pack(Path(tar.name), target)


def _stub_layer(cache: Path) -> Layer:
    sources = {
        "opt/stub/stub_server.py": HERE.parent / "stub_server.py",
        "opt/stub/stub_engine.py": HERE / "stub_engine.py",
        "usr/lib/python3/dist-packages/torch.py": HERE / "stub_torch.py",
    }
    text = b"".join(path.read_bytes() for path in sources.values())
    start = "#!/usr/bin/python3\nimport sys\nsys.path.insert(0, '/opt/stub')\n"
    start += "from stub_engine import main\nmain()\n"
    key = hashlib.sha256(text + start.encode()).hexdigest()[:12]
    target = cache / f"stub-{key}.tar.gz"
    with tempfile.NamedTemporaryFile(dir=cache) as tar:
        if not target.exists():
            with tarfile.open(tar.name, "w") as archive:
                for name in ("llama-server", "vllm"):
                    _add(archive, f"usr/bin/{name}", start.encode(), 0o755)
                for name, path in sources.items():
                    _add(archive, name, path.read_bytes(), 0o644)
                _add_folder(archive, "tmp", 0o1777)
        return pack(Path(tar.name), target)


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(content), mode, _FIXED
    archive.addfile(entry, io.BytesIO(content))


def _add_folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, _FIXED
    archive.addfile(entry)
