"""The control side's way into the on-board layer: folders, sources, and errors translated.

Layer: world. On this machine the same device/ code runs that every rendered stack carries.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from speccompose.catalog.text_file import read_text
from speccompose.device.command import run
from speccompose.device.errors import DeviceError
from speccompose.device.hub import Hub
from speccompose.device.paths import Roots
from speccompose.device.plan_file import Download, Plan
from speccompose.device.preflight import HostFinding
from speccompose.device.pull import Sources
from speccompose.errors import ERROR_BY_STATUS, SourceUnreachableError, SpecComposeError, UsageError
from speccompose.settings import Settings
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.finding import HostNotice, Severity
from speccompose.world.bundled import provide_bundled

BUILD_TIMEOUT_S = 1800
TOKEN_BYTES = 4096


@contextmanager
def as_our_errors() -> Iterator[None]:
    """Turn the board's error into ours of the same exit status."""
    try:
        yield
    except DeviceError as error:
        raised = ERROR_BY_STATUS.get(error.status, SpecComposeError)
        raise raised(error.brief, error.details, hint=error.hint, code=error.code) from None


def as_finding(found: HostFinding) -> HostNotice:
    """The board's finding as ours; without a hint of its own the commands are the hint."""
    return HostNotice(
        severity=Severity(found.severity),
        code=found.code,
        message=found.message,
        hint=found.hint or "; ".join(found.fix) or None,
        evidence=found.evidence,
        fix=found.fix,
    )


def roots(settings: Settings) -> Roots:
    """Where stacks, weights and secrets lie on this machine."""
    return Roots(Path(settings.state_root), Path(settings.secrets_root))


def sources(settings: Settings, catalog: Catalog) -> Sources:
    """Where images and weights come from on a control machine."""

    def build(plan: Plan) -> bool:
        return build_image(plan.image, catalog, Path(settings.data_root))

    def bundle(download: Download, folder: Path) -> None:
        models = roots(settings).models
        target = _target_file(download, catalog, models)
        provide_bundled(download.bundled or "", folder / str(download.file), target_file=target)

    hub = Hub(settings.hub, token=hub_token(settings.hub_token_file))
    return Sources(hub=hub, provide_image=build, provide_bundled=bundle)


def build_image(reference: str, catalog: Catalog, data_root: Path) -> bool:
    """Build an image whose recipe the catalog carries; False when it has none.

    Raises:
        SourceUnreachableError: the recipe failed; its last lines are told.
    """
    for image in catalog.images.values():
        recipe = data_root / "images" / image.id / "build"
        ours = image.built_by_us and any(build.reference == reference for build in image.builds)
        if not ours or not recipe.is_file():
            continue
        done = run(["bash", str(recipe)], timeout_s=BUILD_TIMEOUT_S)
        if done.returncode != 0:
            raise SourceUnreachableError(
                f"building {reference} failed",
                done.stderr.strip().splitlines()[-5:],
                hint=f"run {recipe} by hand to see all of it",
                code="image_build_failed",
            )
        return True
    return False


def hub_token(file: str | None) -> str | None:
    """The hub token out of its file; it never stands in an argument or the environment."""
    if file is None:
        return None
    try:
        return read_text(Path(file), TOKEN_BYTES).strip() or None
    except OSError as error:
        raise UsageError(
            f"cannot read the hub token file {file}: {error.strerror}",
            hint="SPECCOMPOSE_HUB_TOKEN_FILE names a file with the token",
            code="token_unreadable",
        ) from None


def _target_file(draft: Download, catalog: Catalog, models: Path) -> Path:
    """The target's file that a truncated draft is made from, of whichever revision is here."""
    for model in catalog.models.values():
        for pairing in model.pairings:
            if pairing.draft == draft.repo:
                checkpoint = next(item for item in model.checkpoints if item.file)
                plain, file = checkpoint.repo.replace("/", "--"), str(checkpoint.file)
                pinned = sorted(models.glob(f"{plain}@*/{file}"))
                places = [models / plain / file, *pinned]
                return next((place for place in places if place.is_file()), places[0])
    return models / "unknown"
