"""vLLM's sources, in small: every form that its parser gives to a type."""

import pytest

from speccompose.engines.extract.vllm import read_vllm
from speccompose.errors import DataError

CONFIG = '''
from typing import Annotated, Literal
Level = Literal["low", "high"]
More = Literal["more", Level]

class Backend(Enum):
    """Not a value."""
    ONE = "path.one"
    TWO = "path.two"

@config
class Inner:
    size: int = 1

@config
class ModelConfig:
    model: str = "x"
    level: More | None = None
    loose: str | Level = "low"
    number: Literal[1, 2] = 1
    many: list[Level] | None = None
    on: bool = False
    three: bool | None = None
    token: bool | str | None = None
    inner: Inner | None = None
    mode: SkipValidation[Level] = None
    backend: Backend | None = None
    plain_backend: Backend | None = None
    size: Annotated[int, Field(gt=0)] = 1
    quoted: "Level" = "low"
    where: me_quant.Level | None = None

    @field_validator("backend", mode="before")
    def _backend(cls, value):
        return None if value.lower() == "auto" else Backend[value.upper()]

@config
class SpeculativeConfig:
    method: Literal["ngram", Level] | None = None
    enforce: bool | None = None
    target: SkipValidation[ModelConfig] = None
    hidden: int = field(default=0, init=False)
'''

PARSER = """
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="ModelConfig")
        group.add_argument("--level", "-l", **model_kwargs["level"])
        group.add_argument("--loose", **{**model_kwargs["loose"], "default": None})
        group.add_argument("--number", **model_kwargs["number"])
        group.add_argument("--many", **model_kwargs["many"])
        group.add_argument("--enable-on", "-on", **model_kwargs["on"])
        group.add_argument("--three", **model_kwargs["three"])
        group.add_argument("--token", **model_kwargs["token"])
        group.add_argument("--inner-config", "-ic", **model_kwargs["inner"])
        group.add_argument("--mode", **model_kwargs["mode"])
        group.add_argument("--backend", **model_kwargs["backend"])
        group.add_argument("--plain-backend", **model_kwargs["plain_backend"])
        group.add_argument("--size", **model_kwargs["size"])
        group.add_argument("--quoted", **model_kwargs["quoted"])
        group.add_argument("--where", **model_kwargs["where"])
        kernel = model_kwargs["loose"]
        kernel["type"] = lambda s: s.lower().replace("-", "_")
        group.add_argument("--kernel", **kernel)
        parser.add_argument("--stats", action="store_true")
        parser.add_argument("--check", action=argparse.BooleanOptionalAction)
        parser.add_argument("--gdn", choices=["a", "b"], default=None)
        parser.add_argument("--rank", "-r", type=int)
        parser.add_argument("model_tag", type=str)

class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        parser = EngineArgs.add_cli_args(parser)
        parser.add_argument("--log", action=argparse.BooleanOptionalAction)
"""

FRONT = """
class BaseFrontendArgs:
    chat_template: str | None = None

class FrontendArgs(BaseFrontendArgs):
    port: int = 8000
    quiet: bool = False
    tool_call_parser: str | None = None

def make_arg_parser(parser):
    parser.add_argument("--config")
    parser.add_argument("--headless", action="store_true")

def other(parser):
    parser.add_argument("--never")
"""

PARSERS = '_TOOL_PARSERS_TO_REGISTER = {"hermes": ("a", "B"), "qwen3": ("c", "D")}'
FILES = {"a.py": CONFIG, "b.py": PARSER, "c.py": FRONT, "d.py": PARSERS}


@pytest.fixture(scope="module")
def flags():
    reading = read_vllm("1.0", "a wheel", FILES)
    return {option.names[0]: option for option in reading.flags}


@pytest.mark.parametrize(
    ("name", "values", "others"),
    [
        ("--level", ("more", "low", "high", "None"), False),
        ("--loose", ("low", "high"), True),
        ("--number", ("1", "2"), False),
        ("--many", ("low", "high", "None"), False),
        ("--mode", ("low", "high"), False),
        ("--backend", ("ONE", "TWO", "AUTO"), False),
        ("--plain-backend", ("ONE", "TWO"), False),
        ("--quoted", ("low", "high"), False),
        ("--where", ("low", "high", "None"), False),
        ("--gdn", ("a", "b"), False),
        ("--tool-call-parser", ("hermes", "qwen3"), False),
        ("--token", (), False),
        ("--inner-config", (), False),
        ("--size", (), False),
        ("--rank", (), False),
        ("--config", (), False),
        ("--chat-template", (), False),
    ],
)
def test_values(flags, name, values, others):
    assert flags[name].takes_value
    assert flags[name].values == values
    assert flags[name].other_values == others


@pytest.mark.parametrize(
    "names",
    [
        ("--enable-on", "-on", "--no-enable-on"),
        ("--three", "--no-three"),
        ("--check", "--no-check"),
        ("--quiet", "--no-quiet"),
        ("--log", "--no-log"),
        ("--stats",),
        ("--headless",),
    ],
)
def test_switches(flags, names):
    assert flags[names[0]].names == names
    assert not flags[names[0]].takes_value


def test_spellings_and_cases(flags):
    assert flags["--level"].names == ("--level", "-l")
    assert flags["--rank"].names == ("--rank", "-r")
    loose = [name for name, option in flags.items() if option.any_case]
    assert loose == ["--backend", "--plain-backend", "--kernel"]


def test_only_what_serve_adds(flags):
    assert {"--never", "model_tag"} & set(flags) == set()


def test_fields_of_the_speculative_config():
    fields = {option.names[0]: option for option in read_vllm("1", "w", FILES).speculation_fields}
    assert set(fields) == {"method", "enforce"}
    assert fields["method"].values == ("ngram", "low", "high", "None")
    assert fields["enforce"].takes_value


@pytest.mark.parametrize("missing", ["a.py", "b.py", "c.py"])
def test_a_release_that_the_reader_does_not_understand_is_refused(missing):
    files = {name: text for name, text in FILES.items() if name != missing}
    with pytest.raises(DataError):
        read_vllm("1.0", "a wheel", files)


def test_a_flag_of_an_unknown_field_is_refused_not_guessed():
    with pytest.raises(DataError) as caught:
        read_vllm("1.0", "a wheel", {**FILES, "a.py": CONFIG.replace("quoted:", "renamed:")})
    assert "quoted" in caught.value.brief
