"""A GGUF file, or all parts of a split one -> what the checkpoint is.

Layer: checkpoint. Metadata and tensor lists only; never weights.
"""

import re
from pathlib import Path
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.checkpoint.bounded import MIB, bad_checkpoint, regular_size
from speccompose.checkpoint.experts import gguf_experts, table_parameters_m, with_experts
from speccompose.checkpoint.folder import list_folder
from speccompose.checkpoint.geometry import kv_bytes
from speccompose.checkpoint.gguf_draft import gguf_mtp, gguf_speculator
from speccompose.checkpoint.gguf_geometry import GgufKeys, read_gguf_geometry
from speccompose.checkpoint.gguf_header import GgufHeader, GgufTensor, Value, read_gguf_header
from speccompose.checkpoint.gguf_types import ggml_types
from speccompose.checkpoint.names import is_repo, repo_of_folder
from speccompose.checkpoint.table import LAYERS, TOKENS, VOCABULARY, Table
from speccompose.checkpoint.tokenizer import tokens_digest
from speccompose.vocab.checkpoint import (
    CheckpointFacts,
    ElementType,
    GeometryFacts,
    MtpFacts,
    TensorFacts,
    TokenizerFacts,
)
from speccompose.vocab.finding import Finding, info, warning

PARTS_LIMIT: Final = 1000
_PART = re.compile(r"^(.*)-(\d{5})-of-(\d{5})\.gguf$")
_BLOCK = re.compile(r"^blk\.(\d{1,6})\.")
_QUANT = re.compile(
    r"(?:^|[-_.])((?:UD-)?(?:I?Q\d+(?:_[A-Z0-9]+)*|F16|BF16|F32|MXFP4(?:_MOE)?|NVFP4|TQ\d_\d))"
    r"(?=[-_.]|$)",
    re.I,
)
_URL = re.compile(r"^https?://huggingface\.co/([\w.-]+/[\w.-]+)/?$")


def read_gguf(path: Path) -> CheckpointFacts:
    """Read a GGUF.

    Raises:
        DataError: a broken file, a missing part of a split one, absurd numbers.
    """
    parts = _all_parts(path)
    headers = [read_gguf_header(part) for part in parts]
    values = metadata(headers[0].values, path.name)
    tensors = _joined(parts, headers)
    architecture = values.text("general.architecture")
    if architecture is None:
        raise bad_checkpoint(f"{path.name} names no general.architecture")
    keys = GgufKeys(architecture, headers[0].values, path.name)
    tokenizer = _tokenizer(values)
    mtp = gguf_mtp(keys, tensors)
    speculator = gguf_speculator(keys, tensors)
    vocab_size = _vocab_size(keys, tokenizer)
    facts = _tensor_facts(tensors)
    shared = speculator is not None and speculator.shared_kv
    geometry = None if shared else _geometry(keys, tensors, mtp, vocab_size=vocab_size)
    blocks = keys.table.whole("block_count", most=LAYERS)
    return CheckpointFacts(
        name=path.name,
        container="gguf",
        file=parts[0].name,
        names=_names(path, values),
        bases=_bases(values),
        architecture=architecture,
        model_type=architecture,
        format="gguf",
        quantisation=quant_of(path.name),
        weights_mib=-(-sum(regular_size(part) for part in parts) // MIB),
        files=len(parts),
        tensors=facts,
        geometry=geometry,
        kv=kv_bytes(geometry) if geometry else None,
        hidden_size=keys.table.whole("embedding_length", least=1),
        vocab_size=vocab_size,
        layers=None if blocks is None else max(blocks - mtp.heads, 0),
        max_context_tokens=keys.table.whole("context_length", most=TOKENS, least=1),
        tokenizer=tokenizer,
        mtp=mtp,
        speculator=speculator,
        findings=_findings(mtp, geometry is None and not shared),
    )


def metadata(values: dict[str, Value], where: str) -> Table:
    """Metadata as a table, so that its values are checked as those of a config are."""
    plain: dict[str, Plain] = {
        key: list(value) if isinstance(value, list) else value for key, value in values.items()
    }
    return Table(plain, where)


def _geometry(
    keys: GgufKeys, tensors: dict[str, GgufTensor], mtp: MtpFacts, *, vocab_size: int | None
) -> GeometryFacts | None:
    served = mtp.heads if mtp.state == "present" else 0
    geometry = read_gguf_geometry(keys, vocab_size=vocab_size, mtp_layers=served)
    if geometry is None:
        return None
    routed = gguf_experts(keys, _body(tensors, geometry.layers))
    total = _tensor_facts(tensors).parameters
    return with_experts(geometry, routed, table_m=table_parameters_m(tensors), total=total)


def quant_of(name: str) -> str | None:
    """'Q4_K_M' of 'Qwen3-8B-Q4_K_M.gguf': the name's last quantisation."""
    found = _QUANT.findall(name.removesuffix(".gguf"))
    return str(found[-1]) if found else None


def is_first_part(name: str) -> bool:
    """Whether a file name is no later part of a split GGUF."""
    found = _PART.match(name)
    return found is None or int(found[2]) == 1


def _all_parts(path: Path) -> list[Path]:
    found = _PART.match(path.name)
    if found is None:
        return [path]
    count = int(found[3])
    if not 1 <= count <= PARTS_LIMIT:
        raise bad_checkpoint(f"{path.name} would be one of {count} parts")
    parts = [path.with_name(f"{found[1]}-{n:05d}-of-{found[3]}.gguf") for n in range(1, count + 1)]
    there = set(list_folder(path.parent).names)
    missing = [part.name for part in parts if part.name not in there]
    if missing:
        raise bad_checkpoint(
            f"{path.name} lacks {len(missing)} of its {count} parts",
            *missing[:5],
            hint="pull it again",
        )
    return parts


def _joined(parts: list[Path], headers: list[GgufHeader]) -> dict[str, GgufTensor]:
    tensors: dict[str, GgufTensor] = {}
    for path, header in zip(parts, headers, strict=True):
        for name, tensor in header.tensors.items():
            if name in tensors:
                raise bad_checkpoint(f"{path.name} lists {name[:80]}, which another part has, too")
            _check_inside(path, name, tensor, header.data_bytes)
            tensors[name] = tensor
    if not tensors:
        raise bad_checkpoint(
            f"{parts[0].name} holds no tensors", "a vocabulary alone is no model that can be served"
        )
    return tensors


def _body(tensors: dict[str, GgufTensor], layers: int) -> list[str]:
    """Names without those of prediction layers, which stand behind the last one."""
    found = ((name, _BLOCK.match(name)) for name in tensors)
    return [name for name, block in found if block is None or int(block[1]) < layers]


def _check_inside(path: Path, name: str, tensor: GgufTensor, data_bytes: int) -> None:
    kind = ggml_types().get(tensor.type)
    size = -(-tensor.elements // kind.weights) * kind.bytes if kind else 0
    if tensor.offset + size > data_bytes:
        raise bad_checkpoint(
            f"{path.name} is cut short",
            f"tensor {name[:80]} ends at byte {tensor.offset + size} of the data, "
            f"the file has {max(data_bytes, 0)}",
            hint="pull it again",
        )


def _tensor_facts(tensors: dict[str, GgufTensor]) -> TensorFacts:
    known = ggml_types()
    sums: dict[str, list[int]] = {}
    for tensor in tensors.values():
        kind = known.get(tensor.type)
        entry = sums.setdefault(kind.name if kind else f"type {tensor.type}", [0, 0])
        entry[0] += 1
        entry[1] += tensor.elements // kind.weights * kind.bytes if kind else 0
    listed = all(tensor.type in known for tensor in tensors.values())
    types = sorted(sums.items(), key=lambda item: -item[1][1])
    return TensorFacts(
        count=len(tensors),
        parameters=sum(tensor.elements for tensor in tensors.values()) if listed else None,
        types=tuple(
            ElementType(name=name, tensors=count, mib=-(-size // MIB))
            for name, (count, size) in types
        ),
    )


def _tokenizer(values: Table) -> TokenizerFacts | None:
    kind = values.text("tokenizer.ggml.model")
    tokens = values.texts("tokenizer.ggml.tokens")
    if kind is None or not tokens:
        return None
    merges = values.texts("tokenizer.ggml.merges")
    numbered = (f"{number}\0{text}" for number, text in enumerate(tokens))
    return TokenizerFacts(
        kind=kind,
        pre=values.text("tokenizer.ggml.pre"),
        tokens=len(tokens),
        digest=tokens_digest(kind, numbered, merges),
        texts=tokens,
        bos_id=values.whole("tokenizer.ggml.bos_token_id", most=2**32),
        eos_id=values.whole("tokenizer.ggml.eos_token_id", most=2**32),
        add_bos=values.flag("tokenizer.ggml.add_bos_token"),
        add_eos=values.flag("tokenizer.ggml.add_eos_token"),
    )


def _vocab_size(keys: GgufKeys, tokenizer: TokenizerFacts | None) -> int | None:
    """Tokens that are listed; the key only where there is no list."""
    if tokenizer is not None:
        return tokenizer.tokens
    return keys.table.whole("vocab_size", most=VOCABULARY, least=1)


def _names(path: Path, values: Table) -> tuple[str, ...]:
    folders = [repo_of_folder(part) for part in reversed(path.absolute().parts[-4:-1])]
    own = [_repo(values, "general.repo_url"), _repo(values, "general.source.repo_url")]
    return tuple(dict.fromkeys(name for name in (*folders, *own) if name))


def _bases(values: Table) -> tuple[str, ...]:
    found = [_repo(values, f"general.base_model.{number}.repo_url") for number in range(4)]
    return tuple(dict.fromkeys(name for name in found if name))


def _repo(values: Table, key: str) -> str | None:
    text = values.text(key) or ""
    found = _URL.match(text)
    return found[1] if found else text if is_repo(text) else None


def _findings(mtp: MtpFacts, unknown_geometry: bool) -> tuple[Finding, ...]:
    found: list[Finding] = []
    if mtp.state == "stripped":
        found.append(
            warning(
                "mtp_stripped",
                f"{mtp.key} is {mtp.heads}, but no nextn tensor is there",
                hint="draft-mtp would end the server; take a GGUF that kept them (-MTP-GGUF)",
                source="GH ggml-org/llama.cpp#28072",
            )
        )
    if unknown_geometry:
        found.append(info("geometry_unknown", "how its layers keep memory is not known"))
    return tuple(found)
