"""One image against one search: the ways it serves, the reasons it does not."""

import msgspec

from speccompose.plan.builds import kin_of
from speccompose.plan.consider import Search, consider
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import ModelChoice
from speccompose.vocab.request import StackRequest
from tests.plan.image_cases import EVERY_FORMAT, any_of, board, checkpoint, exactly, model, rank


def search(catalog: Catalog, device_id: str, l4t: str | None, choice: ModelChoice) -> Search:
    device = board(catalog, device_id, l4t)
    return Search(
        device=device,
        model=choice,
        request=StackRequest(model="model"),
        catalog=catalog,
        kin=kin_of(device, catalog),
    )


def test_each_image_ends_with_one_verdict(catalog: Catalog) -> None:
    thor = search(catalog, "agx-thor-t5000", "38.4.0", any_of(EVERY_FORMAT))
    verdicts = {name: consider(thor, image).verdict for name, image in catalog.images.items()}
    assert verdicts["vllm-upstream"] == "taken"
    assert verdicts["vllm-iot-r36"] == "place"
    nano = search(catalog, "orin-nano-8gb", "36.4.7", any_of(EVERY_FORMAT))
    assert consider(nano, catalog.images["vllm-iot-r36"]).verdict == "memory"


def test_a_checkpoint_for_the_other_engine_is_not_told_as_a_fault(catalog: Catalog) -> None:
    late = model(checkpoint("gguf"), checkpoint("bf16", min_engine={"vllm": "9.0"}))
    found = consider(
        search(catalog, "agx-thor-t5000", "38.4.0", any_of(late)),
        catalog.images["vllm-upstream"],
    )
    assert found.rejection is not None
    assert "9.0" in found.rejection.reason
    assert "GGUF" not in found.rejection.reason


def test_a_model_of_the_other_engine_only_is_told_in_one_line(catalog: Catalog) -> None:
    choice = any_of(model(checkpoint("bf16"), checkpoint("awq")))
    found = consider(
        search(catalog, "agx-thor-t5000", "38.4.0", choice), catalog.images["llamacpp-iot-cu13"]
    )
    assert found.rejection is not None
    assert found.rejection.reason == "takes GGUF only, the catalog has none of model"


def test_a_checkpoint_that_is_not_automatic_is_taken_by_its_name_only(catalog: Catalog) -> None:
    entry = model(checkpoint("nvfp4", "lab/A", automatic=False), checkpoint("nvfp4", "lab/B"))
    by_id = rank(catalog, "agx-thor-t5000", "38.4.0", model=any_of(entry))
    assert [item.checkpoint.repo for item in by_id.choices] == ["lab/B"]
    by_repo = rank(catalog, "agx-thor-t5000", "38.4.0", model=exactly(entry, "lab/A"))
    assert [item.checkpoint.repo for item in by_repo.choices] == ["lab/A"]


def test_every_choice_says_why(catalog: Catalog) -> None:
    for choice in rank(catalog, "agx-thor-t5000", "38.4.0").choices:
        told = {item.subject: item for item in choice.decisions}
        assert set(told) == {"engine", "image", "build", "checkpoint"}
        assert all(item.rule and item.source for item in told.values())
        assert choice.reason


def test_an_overlay_that_sends_an_orin_image_to_thor_is_not_followed(catalog: Catalog) -> None:
    image = catalog.images["vllm-iot-r36"]
    row = msgspec.structs.replace(image.runs_on[0], families=("thor",), l4t_since="38.0.0")
    row = msgspec.structs.replace(row, l4t_below=None)
    moved = msgspec.structs.replace(image, rank=0, runs_on=(row,), gpu_targets=(), cuda=None)
    overlaid = msgspec.structs.replace(catalog, images={**catalog.images, moved.id: moved})
    ranking = rank(overlaid, "agx-thor-t5000", "38.4.0")
    assert moved.id not in {choice.image.id for choice in ranking.choices}
    assert "never on Thor" in {item.id: item.reason for item in ranking.rejected}[moved.id]
