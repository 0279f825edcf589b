"""What kind of draft a config describes: every format of the field, and what is none."""

import pytest

from speccompose.checkpoint.speculator import read_speculator
from speccompose.checkpoint.table import Table
from speccompose.errors import DataError


def read(config):
    return read_speculator(Table(config, "config.json"), {})


SPECULATORS = {
    "speculators_model_type": "dflash",
    "block_size": 8,
    "speculators_config": {
        "algorithm": "dflash",
        "default_proposal_method": "greedy",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 7}],
        "verifier": {"name_or_path": "Qwen/Qwen3-8B", "architectures": ["Qwen3ForCausalLM"]},
    },
}


@pytest.mark.parametrize(
    ("config", "method", "block"),
    [
        (SPECULATORS, "dflash", 8),
        ({"architectures": ["DFlashDraftModel"], "block_size": 16}, "dflash", 16),
        ({"architectures": ["Qwen3DSparkModel"], "block_size": 7}, "dspark", 7),
        ({"architectures": ["LlamaForCausalLMEagle3"]}, "eagle3", None),
        ({"speculators_model_type": "xpress"}, None, None),
        ({"architectures": ["MedusaModel"]}, None, None),
    ],
)
def test_kinds(config, method, block):
    found = read(config)
    assert (found.method, found.block_size) == (method, block)


def test_a_speculators_draft_names_its_verifier_and_depth():
    found = read(SPECULATORS)
    assert found.verifier == "Qwen/Qwen3-8B"
    assert found.proposed_tokens == 7


def test_dspark_inside_the_target_is_told_as_inside():
    found = read({"architectures": ["DeepseekV4ForCausalLM"], "dspark_block_size": 5})
    assert (found.method, found.inside, found.block_size) == ("dspark", True, 5)


@pytest.mark.parametrize("config", [{}, {"architectures": ["Qwen3ForCausalLM"]}])
def test_a_model_that_serves_by_itself_is_no_draft(config):
    assert read(config) is None


@pytest.mark.parametrize("block", [0, -1, 10**30, "8"])
def test_an_absurd_block_is_refused(block):
    with pytest.raises(DataError):
        read({"architectures": ["DFlashDraftModel"], "block_size": block})
