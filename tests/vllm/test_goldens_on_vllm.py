"""Every vLLM golden, planned anew for 0.32, passes the real parser and the real config checks.

The command is the planned one but for its folders, where tiny configs of the same class stand in:
the parser, ModelConfig, SpeculativeConfig and VllmConfig are vLLM's own.
"""

from pathlib import Path

import msgspec
import pytest

from speccompose.pipeline import plan_stack
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.plan import StackPlan
from tests.golden_cases import CASES

pytestmark = pytest.mark.vllm

VERSION = "0.32.0"
NO_DSPARK = "Model Runner V1 does not support: dspark speculative decoding"
GPU_ONLY = {
    "thor-nemotron-3.5-nvfp4-dspark": NO_DSPARK,
    "agx-orin-r39-nemotron-3.5-nvfp4": NO_DSPARK,
}
"""Where the whole config cannot be made on a CPU, and what vLLM says: its V2 runner wants a GPU."""

ARCHITECTURES = {
    ("mtp", "Qwen3_5ForConditionalGeneration"): "Qwen3_5MTP",
    ("mtp", "Qwen3_5MoeForConditionalGeneration"): "Qwen3_5MoeMTP",
    ("mtp", "Gemma4ForConditionalGeneration"): "Gemma4MTPModel",
    ("eagle3", "Qwen3ForCausalLM"): "Eagle3LlamaForCausalLM",
    ("dflash", "Qwen3ForCausalLM"): "DFlashDraftModel",
    ("dflash", "Qwen3_5MoeForConditionalGeneration"): "DFlashDraftModel",
    ("dspark", "NemotronHForCausalLM"): "Qwen3DSparkModel",
}
"""The class that vLLM must find for the draft of each method and target."""


@pytest.fixture(scope="session")
def on_this_version(catalog: Catalog) -> Catalog:
    """The catalog, with every vLLM image holding the version that is installed here."""

    def moved(image):
        builds = tuple(msgspec.structs.replace(each, version=VERSION) for each in image.builds)
        return msgspec.structs.replace(image, builds=builds)

    images = {
        key: moved(image) if image.engine == "vllm" else image
        for key, image in catalog.images.items()
    }
    return msgspec.structs.replace(catalog, images=images)


def vllm_goldens() -> list[str]:
    """Names of the goldens that vLLM serves, as their plans say."""
    golden = Path(__file__).parents[1] / "golden"
    plans = {name: (golden / name / "plan.json").read_bytes() for name in CASES}
    return [
        name
        for name, text in plans.items()
        if msgspec.json.decode(text)["image"]["engine"] == "vllm"
    ]


def words_here(plan: StackPlan, folder: Path) -> list[str]:
    """The planned command with stand-ins in place of the mounts."""
    from tests.vllm.tiny_configs import draft_config, target_config, write_config, write_tokenizer

    architecture = plan.model.architecture
    write_tokenizer(write_config(folder / "target", target_config(architecture)))
    if plan.speculation.draft_repo is not None:
        method = str(plan.speculation.method)
        write_config(folder / "draft", draft_config(method, architecture))
    (folder / "vllm.yaml").write_text("api-key: sk-golden-0123456789\n")
    places = {"/models/": f"{folder}/", "/secrets/": f"{folder}/"}
    words = list(plan.command)
    for there, here in places.items():
        words = [word.replace(there, here) for word in words]
    return words


def parse(words: list[str]):
    """As `vllm serve` does it."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parsed = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    validate_parsed_serve_args(parsed)
    parsed.model = parsed.model_tag or parsed.model
    return parsed, AsyncEngineArgs.from_cli_args(parsed)


@pytest.mark.parametrize("case", vllm_goldens())
def test_the_real_parser_and_config_take_the_golden(case, on_this_version, models):
    from vllm.config import ParallelConfig

    plan = plan_stack(*CASES[case], on_this_version)
    assert plan.choice.build.version == VERSION
    words = words_here(plan, models)
    parsed, arguments = parse(words)
    assert parsed.port == plan.port
    assert parsed.served_model_name == [plan.served_name]
    assert bool(parsed.api_key) is plan.api_key
    assert arguments.max_num_seqs == plan.memory.sequences
    assert arguments.max_model_len == plan.memory.context_tokens

    model = arguments.create_model_config()
    speculative = arguments.create_speculative_config(model, ParallelConfig())
    method = plan.speculation.method
    assert (speculative is not None) is (method is not None)
    if speculative is not None:
        assert speculative.method == plan.speculation.engine_method
        assert speculative.num_speculative_tokens == plan.speculation.depth
        wanted = ARCHITECTURES[str(method), plan.model.architecture]
        assert list(speculative.draft_model_config.architectures) == [wanted]

    _, fresh = parse(words)
    if case in GPU_ONLY:
        with pytest.raises(ValueError, match=GPU_ONLY[case]):
            fresh.create_engine_config()
        return
    assert fresh.create_engine_config().model_config.max_model_len == plan.memory.context_tokens


def test_this_is_the_version_that_is_planned_for():
    import vllm

    assert vllm.__version__ == VERSION


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--swap-space", "4"], "unrecognized arguments"),
        (["--disable-log-requests"], "unrecognized arguments"),
    ],
)
def test_what_the_table_says_is_gone_is_gone(words, said, models, capsys):
    with pytest.raises(SystemExit):
        parse([str(models), *words])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("field", ["disable_by_batch_size", "speculative_token_tree"])
def test_a_key_that_is_gone_is_refused(field, models):
    from tests.vllm.tiny_configs import target_config, write_config, write_tokenizer

    folder = write_config(models / "target", target_config("Qwen3ForCausalLM"))
    write_tokenizer(folder)
    config = {"method": "ngram", "num_speculative_tokens": 4, field: 1}
    text = msgspec.json.encode(config).decode()
    _, arguments = parse([str(folder), "--speculative-config", text])
    with pytest.raises(ValueError, match=f"{field}(.|\n)*Unexpected keyword"):
        arguments.create_engine_config()


def test_heads_are_asked_for_where_there_are_none(models):
    """What a plan must refuse itself: mtp for a model without prediction layers (runtimes A4)."""
    from tests.vllm.tiny_configs import target_config, write_config, write_tokenizer

    folder = write_config(models / "target", target_config("Qwen3ForCausalLM"))
    write_tokenizer(folder)
    config = '{"method":"mtp","num_speculative_tokens":3}'
    _, arguments = parse([str(folder), "--speculative-config", config])
    with pytest.raises((NotImplementedError, ValueError), match="Unsupported speculative method"):
        arguments.create_engine_config()
