"""Stage 3 of 7, after resolve, before speculate: which images may serve this model here.

Pure. Turns a board, a model and a request into every way to serve, best first, and a reason for
each image that is not among them (rules section 2). One image is judged in consider.py.
"""

from speccompose.errors import UsageError
from speccompose.plan.builds import kin_of
from speccompose.plan.consider import Ranked, Search, consider
from speccompose.plan.image_refusal import refuse
from speccompose.plan.image_request import RequestedImage, requested_image
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.image import ImageRanking
from speccompose.vocab.model import ModelChoice
from speccompose.vocab.request import StackRequest


def rank_images(
    device: ResolvedDevice, model: ModelChoice, request: StackRequest, catalog: Catalog
) -> ImageRanking:
    """Put every image build and checkpoint that may serve in order, best first.

    Order: builds that offer a method asked for by name, vLLM before llama.cpp, the image's rank,
    checkpoints published for the family, then formats by compute capability.

    Raises:
        ImageError: no image fits the board, or --image or the checkpoint cannot run on it.
        MemoryFitError: only llama.cpp is left, and the checkpoint is not for it.
        UsageError: --image is no reference, or contradicts --engine.
    """
    search = Search(
        device=device,
        model=model,
        request=request,
        catalog=catalog,
        kin=kin_of(device, catalog),
        wanted=_wanted(device, request, catalog),
    )
    images = sorted(catalog.images.values(), key=lambda image: (image.rank, image.id))
    considered = tuple(consider(search, image) for image in images)
    ranked: list[Ranked] = [way for item in considered for way in item.ranked]
    if not ranked:
        raise refuse(search, considered)
    ranked.sort(key=lambda way: way.key)
    return ImageRanking(
        choices=tuple(way.choice for way in ranked),
        rejected=tuple(item.rejection for item in considered if item.rejection is not None),
    )


def _wanted(
    device: ResolvedDevice, request: StackRequest, catalog: Catalog
) -> RequestedImage | None:
    if request.image is None:
        return None
    wanted = requested_image(request.image, device, catalog)
    if request.engine not in {"auto", wanted.image.engine}:
        raise UsageError(
            f"--image {request.image} is {wanted.image.engine}, --engine asks for {request.engine}",
            hint="drop one of the two",
            code="engine_contradiction",
        )
    return wanted
