"""A truncated GGUF keeps the first layers, the vocabulary and everything else."""

import numpy
import pytest
from gguf import GGUFReader, GGUFWriter

from speccompose.checkpoint.truncate import truncate_gguf
from speccompose.errors import DataError


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(3)
    writer.add_token_list(["a", "b", "c"])
    for name in ("token_embd.weight", "output_norm.weight"):
        writer.add_tensor(name, numpy.ones((4, 8), dtype=numpy.float32))
    for layer in range(3):
        tensor = numpy.full((4, 8), layer, dtype=numpy.float32)
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_keeps_the_first_layers_and_the_vocabulary(model, tmp_path):
    target = tmp_path / "draft.gguf"
    truncate_gguf(model, target, 1)
    reader = GGUFReader(target)
    assert reader.fields["llama.block_count"].contents() == 1
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "b", "c"]
    names = {tensor.name for tensor in reader.tensors}
    assert names == {"token_embd.weight", "output_norm.weight", "blk.0.ffn_up.weight"}
    assert not list(tmp_path.glob("*.part"))


def test_refuses_to_keep_more_layers_than_there_are(model, tmp_path):
    with pytest.raises(DataError, match="has 3 layers"):
        truncate_gguf(model, tmp_path / "draft.gguf", 3)


def test_refuses_what_is_no_gguf(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"not a model at all, but long enough to be read")
    with pytest.raises(DataError, match="no readable GGUF"):
        truncate_gguf(tmp_path / "x.gguf", tmp_path / "draft.gguf", 1)
