"""What ``llama-server --help`` prints, in small."""

import pytest

from speccompose.engines.extract.llama_help import read_help
from speccompose.errors import DataError

TEXT = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-t,    --threads N                      number of CPU threads (default: <num_cpus>)
                                        (env: LLAMA_ARG_THREADS)
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto')
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to enable KV cache offloading (default: enabled)
-ctk,  --cache-type-k TYPE              KV cache data type for K
                                        allowed values: f32, q8_0, iq4_nl
                                        (default: f16)
-lm,   --load-mode MODE                 model loading mode (default: auto)
                                        - auto: mmap, unless a device does not support it
                                        - mmap+mlock: mmap + force system to keep model in RAM
                                        - dio: use DirectIO if available
--reasoning-format FORMAT               controls thought tags; one of:
                                        - none: leaves thoughts
                                        - deepseek: puts thoughts
                                        (default: auto)
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers, either an exact number,
                                        'auto', or 'all' (default: auto)
--spec-type none,draft-eagle3,ngram-map-k4v
                                        comma-separated list of types
-ts,   --tensor-split N0,N1,N2,...      fraction of the model, e.g. 3,1
--draft-max N                           the argument has been removed. use --spec-draft-n-max
--metrics                               enable metrics (default: disabled)
--control-vector-layer-range START END
                                        layer range


----- server params -----

--no-host                               bypass host buffer
--fim-qwen-1.5b-default                 use default Qwen 2.5 Coder 1.5B (note: can download
                                        weights from the internet)
"""


@pytest.fixture(scope="module")
def flags():
    return {option.names[0]: option for option in read_help("b1", "help", TEXT).flags}


def test_names(flags):
    assert list(flags) == [
        "-t", "-fa", "-kvo", "-ctk", "-lm", "--reasoning-format", "-ngl", "--spec-type", "-ts",
        "--metrics", "--control-vector-layer-range", "--no-host",
    ]  # fmt: skip
    assert flags["-kvo"].names == ("-kvo", "--kv-offload", "-nkvo", "--no-kv-offload")
    assert flags["-ngl"].names == ("-ngl", "--gpu-layers", "--n-gpu-layers")


def test_switches(flags):
    switches = [name for name, option in flags.items() if not option.takes_value]
    assert switches == ["-kvo", "--metrics", "--no-host"]


@pytest.mark.parametrize(
    ("name", "values", "numbers"),
    [
        ("-t", (), False),
        ("-ctk", ("f32", "q8_0", "iq4_nl"), False),
        ("-lm", ("auto", "mmap+mlock", "dio"), False),
        ("--reasoning-format", (), False),
        ("-ngl", ("auto", "all"), True),
        ("--spec-type", ("none", "draft-eagle3", "ngram-map-k4v"), False),
        ("-ts", (), False),
    ],
)
def test_values(flags, name, values, numbers):
    assert (flags[name].values, flags[name].numbers) == (values, numbers)


def test_on_and_off_stand_for_the_words_that_the_source_takes(flags):
    assert {"on", "1", "true", "off", "0", "auto"} <= set(flags["-fa"].values)


def test_a_text_without_flags_is_refused():
    with pytest.raises(DataError):
        read_help("b1", "help", "error: no such option\n")
