"""Safetensors headers, what engines find of them, and how many parameters they are."""

import json

import pytest

from speccompose.checkpoint.bounded import bad_checkpoint, read_bounded
from speccompose.checkpoint.folder import list_folder, read_weights
from speccompose.checkpoint.parameters import tensor_facts
from speccompose.checkpoint.quantisation import Quantisation, read_quantisation
from speccompose.checkpoint.safetensors_header import StoredTensor, read_header
from speccompose.checkpoint.table import Table
from speccompose.errors import DataError
from tests.checkpoint.made import (
    header_bytes,
    index_of,
    plain_tensors,
    write_hf,
    write_safetensors,
)


def test_header_is_read_without_the_data(tmp_path):
    path = write_safetensors(tmp_path / "m.safetensors", {"w": ("BF16", [70000, 70000])})
    assert path.stat().st_blocks * 512 < 1_000_000
    assert read_header(path) == {"w": StoredTensor("bf16", (70000, 70000), 9_800_000_000)}


def test_a_scalar_and_an_unknown_type_are_tensors(tmp_path):
    header = {
        "s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
        "n": {"dtype": "F3", "shape": [2], "data_offsets": [4, 5]},
    }
    text = json.dumps(header).encode()
    (tmp_path / "m.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"12345")
    found = read_header(tmp_path / "m.safetensors")
    assert found["s"].elements == 1
    assert found["n"].type == "f3"


def broken(edit) -> bytes:
    head, size = header_bytes({"w": ("BF16", [4, 4])})
    return edit(head, b"\0" * size)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no safetensors file"),
        (b"\x05\0\0", "no safetensors file"),
        (b"\0" * 8, "no safetensors file"),
        (broken(lambda head, data: head[:30]), "cut short"),
        (broken(lambda head, data: head), "cut short"),
        (broken(lambda head, data: head + data[:-1]), "cut short"),
        ((2**62).to_bytes(8, "little") + b"{}", "no safetensors file"),
        ((50).to_bytes(8, "little") + b"x" * 60, "header is not usable"),
        ((2).to_bytes(8, "little") + b"[]", "header is not usable"),
        (broken(lambda head, data: head.replace(b"[4, 4]", b"[4, 5]") + data), "does not fill"),
        (broken(lambda head, data: head.replace(b"[4, 4]", b"[4,-4]") + data), "not usable"),
        (broken(lambda head, data: head.replace(b"[4, 4]", b'["44"]') + data), "not usable"),
        (broken(lambda head, data: head.replace(b"[0, 32]", b"[32, 0]") + data), "before it begi"),
        (broken(lambda head, data: head.replace(b"[4, 4]", b"[[[4]]") + data), "not usable"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n", "git-lfs"),
    ],
)
def test_broken_headers_are_refused(tmp_path, content, message):
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(DataError) as refused:
        read_header(path)
    assert message in "\n".join((refused.value.brief, *refused.value.details))


def test_a_deep_header_is_refused(tmp_path):
    text = b'{"w":' + b"[" * 200_000
    (tmp_path / "m.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(DataError, match="header is not usable"):
        read_header(tmp_path / "m.safetensors")


def test_engines_find_what_the_index_names(tmp_path):
    named = {"model-1.safetensors": plain_tensors(2), "model-2.safetensors": {"x": ("F32", [2])}}
    files = {**named, "extra.safetensors": {"mtp.fc.weight": ("BF16", [8, 16])}}
    weights = read_weights(list_folder(write_hf(tmp_path, {}, files, index=index_of(named))))
    assert set(weights.tensors) == {*plain_tensors(2), "x"}
    assert list(weights.outside) == ["extra.safetensors"]
    assert weights.files == 2


def test_without_an_index_every_file_is_read(tmp_path):
    files = {"a.safetensors": {"x": ("F32", [2])}, "b.safetensors": {"mtp.y": ("F32", [2])}}
    weights = read_weights(list_folder(write_hf(tmp_path, {}, files)))
    assert set(weights.tensors) == {"x", "mtp.y"}
    assert weights.outside == {}


def test_names_of_the_index_that_are_nowhere(tmp_path):
    files = {"a.safetensors": {"x": ("F32", [2])}}
    index = {"weight_map": {"x": "a.safetensors", "mtp.y": "a.safetensors"}}
    assert read_weights(list_folder(write_hf(tmp_path, {}, files, index=index))).lost == ("mtp.y",)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"weight_map": {"x": "gone.safetensors"}}, "names 1 of 1 files that are not there"),
        ({"weight_map": {"x": "../a.safetensors"}}, "outside its folder"),
        ({"weight_map": {"x": "/etc/passwd"}}, "outside its folder"),
        ({"weight_map": {}}, "names no tensor"),
        ({"weight_map": {"x": 5}}, "not usable JSON"),
        ({"weight_map": None}, "not usable JSON"),
        ({}, "not usable JSON"),
        ([], "not usable JSON"),
    ],
)
def test_broken_indexes_are_refused(tmp_path, index, message):
    write_hf(tmp_path, {}, {"a.safetensors": {"x": ("F32", [2])}}, index=index)
    with pytest.raises(DataError, match=message):
        read_weights(list_folder(tmp_path))


def test_the_missing_files_are_named(tmp_path):
    index = {"weight_map": {f"t{n}": f"model-{n:02}.safetensors" for n in range(9)}}
    write_hf(tmp_path, {}, {"a.safetensors": {"x": ("F32", [2])}}, index=index)
    with pytest.raises(DataError, match="names 9 of 9") as refused:
        read_weights(list_folder(tmp_path))
    assert refused.value.details[-1] == "and 4 more"


def test_two_files_with_one_name_and_no_index(tmp_path):
    files = {"a.safetensors": {"x": ("F32", [2])}, "b.safetensors": {"x": ("F32", [2])}}
    with pytest.raises(DataError, match="another file of the folder"):
        read_weights(list_folder(write_hf(tmp_path, {}, files)))


def test_pickled_weights_are_not_run(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(DataError, match="pickled"):
        read_weights(list_folder(tmp_path))


PACKED = [
    ("awq", {"quant_method": "awq", "bits": 4}, "layer.qweight", "I32", [8, 4], 256),
    ("gptq", {"quant_method": "gptq", "bits": 4}, "layer.qweight", "I32", [4, 8], 256),
    ("gptq", {"quant_method": "auto-round", "bits": 4}, "layer.qweight", "I32", [4, 8], 256),
    (
        "w4a16",
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 4}}},
        },
        "layer.weight_packed",
        "I32",
        [8, 4],
        256,
    ),
    (
        "nvfp4",
        {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
        "layer.weight_packed",
        "U8",
        [8, 16],
        256,
    ),
    ("mxfp4", {"quant_method": "mxfp4"}, "mlp.experts.up_proj_blocks", "U8", [2, 8, 16], 512),
    ("fp8", {"quant_method": "fp8"}, "layer.weight", "F8_E4M3", [16, 16], 256),
]


@pytest.mark.parametrize(("name", "settings", "tensor", "dtype", "shape", "elements"), PACKED)
def test_packed_weights_are_counted_unpacked(name, settings, tensor, dtype, shape, elements):
    tensors = {
        tensor: StoredTensor(dtype.lower(), tuple(shape), 1),
        "norm.weight": StoredTensor("bf16", (16,), 32),
        "layer.scales": StoredTensor("f16", (8, 2), 32),
        "layer.qzeros": StoredTensor("i32", (8, 2), 64),
        "layer.weight_scale": StoredTensor("f8_e4m3", (8, 2), 16),
        "layer.weight_shape": StoredTensor("i64", (2,), 16),
        "mlp.experts.up_proj_scales": StoredTensor("u8", (2, 8), 16),
        "d2t": StoredTensor("i64", (9,), 72),
    }
    types = {dtype.lower(), "bf16"}
    found = read_quantisation(Table({"quantization_config": settings}, "c"), None, types)
    assert found.format == name
    assert tensor_facts(tensors, found).parameters == elements + 16


def test_modelopt_keeps_its_settings_in_a_file_of_its_own():
    separate = Table(
        {"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head", "mtp*"]}}, "q"
    )
    tensors = {
        "layer.weight": StoredTensor("u8", (16, 8), 128),
        "layer.weight_scale": StoredTensor("f8_e4m3", (16, 1), 16),
        "layer.weight_scale_2": StoredTensor("f32", (), 4),
    }
    found = read_quantisation(Table({}, "c"), separate, {"u8", "f8_e4m3"})
    assert found.format == "nvfp4"
    assert found.leaves_out("mtp.fc.weight")
    assert tensor_facts(tensors, found).parameters == 256


def test_an_unknown_packing_is_not_counted():
    tensors = {"layer.weight": StoredTensor("u8", (16, 8), 128)}
    assert tensor_facts(tensors, Quantisation(None, "bitsandbytes")).parameters is None
    tensors = {"layer.qweight": StoredTensor("i32", (16, 8), 512)}
    assert tensor_facts(tensors, Quantisation("gptq", "gptq")).parameters is None


@pytest.mark.parametrize(
    ("settings", "module", "out"),
    [
        ({"ignore": ["re:.*mtp.*"]}, "model.mtp.fc", True),
        ({"ignore": ["re:("]}, "model.mtp.fc", False),
        ({"ignore": ["mtp.fc"]}, "mtp.fc", True),
        ({"ignore": ["mtp.fc"]}, "mtp.layers.0.up", False),
        ({"modules_to_not_convert": ["mtp"]}, "mtp.layers.0.up", True),
        ({"exclude_modules": ["mtp.layers.0*"]}, "mtp.layers.0.up", True),
        ({"dynamic": {"-:.*mtp.*": {}}}, "mtp.fc", True),
        ({"extra_config": {"mtp.fc": {"bits": 16}}}, "mtp.fc", True),
        ({"extra_config": {"mtp.fc": {"bits": 4}}}, "mtp.fc", False),
        ({}, "mtp.fc", False),
    ],
)
def test_what_the_settings_leave_out(settings, module, out):
    config = Table({"quantization_config": {"quant_method": "awq", "bits": 4, **settings}}, "c")
    assert read_quantisation(config, None, {"i32"}).leaves_out(f"{module}.weight") is out


def test_plain_weights_are_bf16_and_others_unknown():
    assert read_quantisation(Table({}, "c"), None, {"bf16", "f32"}).format == "bf16"
    assert read_quantisation(Table({}, "c"), None, {"u8"}).format is None


def test_limits_are_read_before_the_file(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(2 * 1024**3)
    with pytest.raises(DataError, match="2147483648 bytes"):
        read_bounded(path, 100)


def test_a_folder_a_pipe_and_a_loop_are_no_files(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name, message in ((".", "no regular file"), ("pipe", "no regular"), ("loop", "symbolic")):
        with pytest.raises(DataError, match=message):
            read_bounded(tmp_path / name, 100)
    assert bad_checkpoint("x").code == "bad_checkpoint"
