"""Names of models: ids pick, repositories pin, anything else is refused with near names."""

import msgspec
import pytest

from speccompose.errors import UsageError
from speccompose.plan.models import find_model
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.model import ModelChoice
from speccompose.vocab.request import StackRequest
from tests.plan.image_cases import checkpoint, model, with_models


def find(catalog: Catalog, name: str) -> ModelChoice:
    return find_model(StackRequest(model=name), catalog)


def refusal(catalog: Catalog, name: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        find(catalog, name)
    assert caught.value.hint
    return caught.value


@pytest.fixture
def two_quants(catalog: Catalog) -> Catalog:
    """One model: BF16 under the base's name, an AWQ, and one GGUF repository with two files."""
    entry = model(
        checkpoint("bf16", "lab/Model"),
        checkpoint("awq", "Other/Model-AWQ"),
        checkpoint("gguf", "lab/Model-GGUF", quant="Q4_K_M", file="Model-Q4_K_M.gguf"),
        checkpoint("gguf", "lab/Model-GGUF", quant="Q8_0", file="Model-Q8_0.gguf"),
    )
    names = ("Model", "Model-AWQ", "Model-Q8_0", "model4")
    return with_models(catalog, msgspec.structs.replace(entry, also_known_as=names))


def test_an_id_lists_every_checkpoint_and_lets_the_board_pick(two_quants: Catalog) -> None:
    found = find(two_quants, "model")
    assert not found.exact
    assert found.checkpoints == two_quants.models["model"].checkpoints


@pytest.mark.parametrize("name", ["MODEL", "Model", "model4", "MODEL4", " model "])
def test_other_spellings_and_names_of_the_model_mean_the_model(
    two_quants: Catalog, name: str
) -> None:
    found = find(two_quants, name)
    assert not found.exact
    assert len(found.checkpoints) == 4


@pytest.mark.parametrize("name", ["Other/Model-AWQ", "other/model-awq", "Model-AWQ"])
def test_a_repository_pins_its_checkpoint(two_quants: Catalog, name: str) -> None:
    found = find(two_quants, name)
    assert found.exact
    assert [item.repo for item in found.checkpoints] == ["Other/Model-AWQ"]


def test_the_base_models_repository_pins_its_unquantised_weights(two_quants: Catalog) -> None:
    found = find(two_quants, "lab/Model")
    assert found.exact
    assert [item.format for item in found.checkpoints] == ["bf16"]


def test_a_repository_with_several_quants_gives_all_of_them(two_quants: Catalog) -> None:
    found = find(two_quants, "lab/Model-GGUF")
    assert found.exact
    assert [item.quant for item in found.checkpoints] == ["Q4_K_M", "Q8_0"]


@pytest.mark.parametrize("name", ["lab/Model-GGUF:Q8_0", "lab/model-gguf:q8_0", "model:Q8_0"])
def test_a_quant_picks_one_file(two_quants: Catalog, name: str) -> None:
    found = find(two_quants, name)
    assert found.exact
    assert found.asked == name
    assert [item.quant for item in found.checkpoints] == ["Q8_0"]


def test_the_name_of_a_gguf_file_pins_that_file(two_quants: Catalog) -> None:
    found = find(two_quants, "Model-Q8_0")
    assert [item.quant for item in found.checkpoints] == ["Q8_0"]


def test_exact_case_wins_over_another_case(catalog: Catalog) -> None:
    entry = model(checkpoint("awq", "lab/Thing"), checkpoint("bf16", "Lab/thing"))
    both = with_models(catalog, entry)
    assert find(both, "Lab/thing").checkpoints[0].format == "bf16"
    assert find(both, "lab/Thing").checkpoints[0].format == "awq"


def test_an_unknown_quant_names_the_known_ones(two_quants: Catalog) -> None:
    error = refusal(two_quants, "lab/Model-GGUF:Q5_K_M")
    assert "lab/Model-GGUF:Q8_0" in "\n".join(error.details)


def test_a_quant_of_a_repository_without_quants_is_refused(two_quants: Catalog) -> None:
    assert "Q4" in refusal(two_quants, "Other/Model-AWQ:Q4").brief


def test_one_name_for_two_models_is_refused_with_both_ids(catalog: Catalog) -> None:
    one = model(checkpoint("bf16", "lab/Same"))
    both = with_models(catalog, one, msgspec.structs.replace(one, id="twin"))
    error = refusal(both, "lab/Same")
    assert error.details == ("model", "twin")


@pytest.mark.parametrize(
    "path",
    [
        "/srv/models/qwen",
        "./qwen",
        "../qwen",
        "~/qwen",
        "qwen.gguf",
        "a/b/c",
        "qwen/",
        ".",
        "Q.GGUF",
    ],
)
def test_a_local_checkpoint_is_refused_honestly(catalog: Catalog, path: str) -> None:
    error = refusal(catalog, path)
    assert error.code == "local_checkpoint"
    assert "there is no checkpoint at" in error.brief
    assert "config.json" in (error.hint or "")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("qwen3.6-27", "qwen3.6-27b"),
        ("Qwen3.6-27B-NVFP5", "qwen3.6-27b"),
        ("nvidia/Qwen3-8B-NVFP", "nvidia/Qwen3-8B-NVFP4"),
        ("gemma", "gemma-4-e2b"),
    ],
)
def test_an_unknown_model_is_refused_with_near_names(
    catalog: Catalog, name: str, near: str
) -> None:
    error = refusal(catalog, name)
    assert error.code == "model_unknown"
    assert near in " ".join(error.details)
    assert "catalog list" in (error.hint or "")


def test_a_name_like_nothing_is_still_told_where_to_look(catalog: Catalog) -> None:
    error = refusal(catalog, "zzzz")
    assert error.details == ()
    assert "catalog list" in (error.hint or "")


def test_a_draft_given_as_the_model_is_explained(catalog: Catalog) -> None:
    error = refusal(catalog, "RedHatAI/Qwen3-8B-speculator.dflash")
    assert "--model qwen3-8b --draft" in " ".join(error.details)


def test_a_base_model_without_a_checkpoint_of_its_own_is_explained(catalog: Catalog) -> None:
    error = refusal(catalog, "Qwen/Qwen3.6-27B")
    assert "qwen3.6-27b" in " ".join(error.details)


def test_every_name_in_the_catalog_is_found(catalog: Catalog) -> None:
    for entry in catalog.models.values():
        assert find(catalog, entry.id).model.id == entry.id
        for alias in entry.also_known_as:
            assert find(catalog, alias).model.id == entry.id
        for item in entry.checkpoints:
            by_repo = find(catalog, item.repo)
            assert by_repo.exact
            assert {found.repo for found in by_repo.checkpoints} == {item.repo}
            if item.quant:
                assert find(catalog, f"{item.repo}:{item.quant}").checkpoints == (item,)


def test_the_seeds_names_pin_what_the_seeds_ran(catalog: Catalog) -> None:
    hybrid = find(catalog, "Qwen3.5-122B-A10B-hybrid-int4-fp8")
    assert [item.format for item in hybrid.checkpoints] == ["int4-fp8"]
    lightning = find(catalog, "ggml-org/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-GGUF:Q4_K_M")
    assert lightning.model.id == "nemotron-3.5-lightning-30b-a3b"
