"""llama.cpp's arg.cpp, in small: handlers, tags and comparisons."""

import pytest

from speccompose.engines.extract.llama_cpp import read_sources
from speccompose.errors import DataError

ARGUMENTS = r"""
const std::vector<ggml_type> kv_cache_types = { GGML_TYPE_F16, GGML_TYPE_Q8_0, };
static std::initializer_list<enum llama_example> mmproj_examples = {
    LLAMA_EXAMPLE_MTMD, LLAMA_EXAMPLE_SERVER,
};
// add_opt(common_arg({"--commented"}, "out", [](common_params & params) {}));
    add_opt(common_arg(
        {"-h", "--help"}, "print", [](common_params & params) { params.usage = true; }));
    add_opt(common_arg(
        {"-c", "--ctx-size"}, "N",
        string_format("size (see http://x/y) of \"it\" ) { (default: %d)", params.n_ctx),
        [](common_params & params, int value) { params.n_ctx = value; }
    ).set_env("LLAMA_ARG_CTX_SIZE"));
    add_opt(common_arg(
        {"--mmap"}, {"--no-mmap"}, "map",
        [](common_params & params, bool value) { params.mmap = value; }));
    add_opt(common_arg({"--metrics"}, "count",
        [](common_params & params) { params.metrics = true; }
    ).set_examples({LLAMA_EXAMPLE_SERVER}));
    add_opt(common_arg({"--color"}, "c", [](common_params & params) { params.color = ']'; }
    ).set_examples({LLAMA_EXAMPLE_CLI}));
    add_opt(common_arg({"-p", "--prompt"}, "PROMPT", "p",
        [](common_params & params, const std::string & value) { params.prompt = value; }
    ).set_excludes({LLAMA_EXAMPLE_SERVER}));
    add_opt(common_arg({"-mm", "--mmproj"}, "FILE", "p",
        [](common_params & params, const std::string & value) { params.mmproj = value; }
    ).set_examples(mmproj_examples));
    add_opt(common_arg({"--draft-max"}, "N", "the argument has been removed. use --other",
        [](common_params & params, int value) { throw std::invalid_argument("removed"); }));
    add_opt(common_arg({"--fim-default"}, "use it (note: can download weights from the internet)",
        [](common_params & params) { params.model = "x"; }));
    add_opt(common_arg({"-ctk"}, "TYPE", "t",
        [](common_params & params, const std::string & value) {
            params.cache_type_k = kv_cache_type_from_str(value);
        }));
    add_opt(common_arg({"--spec-type"}, "x",  "t",
        [](common_params & params, const std::string & value) {
            params.types = common_speculative_types_from_names(value);
        }));
    add_opt(common_arg({"-fa"}, "[on|off|auto]", "t",
        [](common_params & params, const std::string & value) {
            if (is_truthy(value)) { params.fa = 1; }
            else if (is_falsey(value)) { params.fa = 0; }
            else { throw std::runtime_error("unknown"); }
        }));
    add_opt(common_arg({"-sm"}, "{none,row}", "t",
        [](common_params & params, const std::string & value) {
            std::string arg_next = value;
            if (arg_next == "none") { } else if (arg_next == "row") { }
            else { throw std::invalid_argument("invalid value"); }
        }));
    add_opt(common_arg({"-ngl"}, "N", "t",
        [](common_params & params, const std::string & value) {
            if (value == "auto") { params.n = -1; }
            else if (value == "all") { params.n = -2; }
            else { params.n = std::stoi(value); }
            if (params.n < -2) { throw std::invalid_argument("invalid value"); }
        }));
    add_opt(common_arg({"-dev"}, "D", "t",
        [](common_params & params, const std::string & value) {
            if (value == "none") { return; }
            throw std::invalid_argument("no such device");
        }));
    add_opt(common_arg({"--style"}, "S", "t",
        [](common_params & params, const std::string & value) {
            params.style = value == "a" ? 1 : value == "b" ? 2 : 3;
        }));
    add_opt(common_arg({"--range"}, "START", "END", "t",
        [](common_params & params, const std::string & start, const std::string & end) { }));
"""
SPECULATIVE = """
const std::map<std::string, enum common_speculative_type> common_speculative_type_from_name_map = {
    {"none",      COMMON_SPECULATIVE_TYPE_NONE},
    {"draft-mtp", COMMON_SPECULATIVE_TYPE_DRAFT_MTP},
};
"""


@pytest.fixture(scope="module")
def flags():
    reading = read_sources("b1", "an archive", arguments=ARGUMENTS, speculative=SPECULATIVE)
    return {option.names[0]: option for option in reading.flags}


def test_only_flags_of_the_server_that_start_it(flags):
    """Not what other programs have, what prints and ends, and what only says that it is gone."""
    assert set(flags) == {
        "-c", "--mmap", "--metrics", "-mm", "-ctk", "--spec-type", "-fa", "-sm", "-ngl", "-dev",
        "--style", "--range",
    }  # fmt: skip


def test_values_and_switches(flags):
    switches = {name for name, option in flags.items() if not option.takes_value}
    assert switches == {"--mmap", "--metrics"}
    assert flags["-c"].names == ("-c", "--ctx-size")
    assert flags["--mmap"].names == ("--mmap", "--no-mmap")


@pytest.mark.parametrize(
    ("name", "values", "numbers"),
    [
        ("-ctk", ("f16", "q8_0"), False),
        ("--spec-type", ("none", "draft-mtp"), False),
        ("-fa", ("on", "enabled", "true", "1", "off", "disabled", "false", "0"), False),
        ("-sm", ("none", "row"), False),
        ("-ngl", ("auto", "all"), True),
        ("-dev", (), False),
        ("--style", ("a", "b"), False),
        ("-c", (), False),
    ],
)
def test_listed_values(flags, name, values, numbers):
    assert (flags[name].values, flags[name].numbers) == (values, numbers)


def test_a_handler_that_never_throws_takes_other_words(flags):
    assert [name for name, option in flags.items() if option.other_values] == ["--style"]


@pytest.mark.parametrize("text", ["", "int main() {}", 'add_opt(common_arg({"--x"}, "y"'])
def test_what_is_no_arg_cpp_is_refused(text):
    with pytest.raises(DataError):
        read_sources("b1", "an archive", arguments=text, speculative="")
