"""A GGUF becomes a smaller one: its first N layers, as a draft that needs no second download.

Layer: checkpoint. The demo and the tests speculate with it; it is a real language model that
guesses badly, which is what makes a real 'rejected' on a CPU.
"""

from pathlib import Path

from speccompose.errors import DataError, UsageError


def truncate_gguf(source: Path, target: Path, layers: int) -> None:
    """Write ``target`` with the first ``layers`` blocks of ``source``; atomic.

    Raises:
        DataError: the source is no GGUF, or has fewer layers.
        UsageError: the extra `inspect` is not installed.
    """
    # Imported where used: gguf pulls in numpy, and only the demo needs it.
    try:
        from gguf import GGUFReader, GGUFValueType, GGUFWriter
    except ImportError:
        raise UsageError(
            "making a shortened draft needs the gguf package",
            hint="pip install 'speccompose[inspect]'",
            code="extra_missing",
        ) from None

    try:
        reader = GGUFReader(source)
    except (ValueError, OSError) as error:
        raise DataError(f"{source} is no readable GGUF: {error}", code="bad_gguf") from None
    architecture = str(reader.fields["general.architecture"].contents())
    blocks = int(reader.fields[f"{architecture}.block_count"].contents())
    if layers >= blocks:
        raise DataError(f"{source} has {blocks} layers; cannot keep {layers}", code="bad_gguf")
    draft = target.with_suffix(".part")
    writer = GGUFWriter(draft, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = layers if name == f"{architecture}.block_count" else field.contents()
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, kind, inner)
    for tensor in reader.tensors:
        if _kept(tensor.name, layers):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(target)


def _kept(tensor: str, layers: int) -> bool:
    parts = tensor.split(".")
    return parts[0] != "blk" or int(parts[1]) < layers
