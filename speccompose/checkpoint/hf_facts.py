"""A Hugging Face folder -> what the checkpoint is: config, headers, tokenizer, claims.

Layer: checkpoint. Reads config.json, the index, headers and tokenizer files; never weights.
"""

from collections.abc import Iterator
from typing import NamedTuple

from speccompose.checkpoint.bounded import CONFIG_LIMIT, MIB, bad_checkpoint, read_object
from speccompose.checkpoint.experts import hf_experts, table_parameters_m, with_experts
from speccompose.checkpoint.folder import INDEX, Folder, Weights, read_weights
from speccompose.checkpoint.geometry import kv_bytes, max_context, read_geometry
from speccompose.checkpoint.mtp import MtpNames, mtp_facts
from speccompose.checkpoint.names import folder_claims
from speccompose.checkpoint.parameters import tensor_facts
from speccompose.checkpoint.quantisation import Quantisation, read_quantisation
from speccompose.checkpoint.speculator import read_speculator
from speccompose.checkpoint.table import LAYERS, VOCABULARY, Table
from speccompose.checkpoint.tokenizer import read_tokenizer
from speccompose.vocab.checkpoint import (
    CheckpointFacts,
    GeometryFacts,
    MtpFacts,
    SpeculatorFacts,
    TensorFacts,
)
from speccompose.vocab.finding import Finding, info, warning

_MODELOPT = "hf_quant_config.json"


class _Read(NamedTuple):
    """What was read of one folder, for those who put it together."""

    root: Table
    weights: Weights
    quantisation: Quantisation
    mtp: MtpFacts
    tensors: TensorFacts
    speculator: SpeculatorFacts | None


def read_hf_folder(folder: Folder) -> CheckpointFacts:
    """Read a folder with a config.json.

    Raises:
        DataError: config, index, header or tokenizer is missing, broken or absurd.
    """
    read = _read(folder)
    part = read.root.text_part()
    geometry = _geometry(read, part)
    claims = folder_claims(folder, read.root)
    architectures = read.root.texts("architectures")
    model_type = read.root.text("model_type") or part.text("model_type")
    tokenizer = read_tokenizer(folder)
    return CheckpointFacts(
        name=folder.path.absolute().name or str(folder.path),
        container="safetensors",
        names=claims.names,
        bases=claims.bases,
        architecture=architectures[0] if architectures else model_type or "not named",
        model_type=model_type,
        format=read.quantisation.format,
        quantisation=read.quantisation.words,
        weights_mib=-(-read.weights.bytes // MIB),
        files=read.weights.files,
        tensors=read.tensors,
        geometry=geometry,
        kv=kv_bytes(geometry) if geometry else None,
        hidden_size=part.whole("hidden_size", "n_embd", "d_model", least=1),
        vocab_size=part.whole("vocab_size", most=VOCABULARY, least=1),
        layers=part.whole("num_hidden_layers", "n_layer", most=LAYERS),
        max_context_tokens=max_context(part),
        tokenizer=tokenizer,
        mtp=read.mtp,
        speculator=read.speculator,
        findings=_findings(read, geometry, folder),
    )


def _read(folder: Folder) -> _Read:
    config = read_object(folder.path / "config.json", CONFIG_LIMIT)
    root = Table(config, "config.json")
    part = root.text_part()
    weights = read_weights(folder)
    separate = None
    if folder.has(_MODELOPT):
        found = read_object(folder.path / _MODELOPT, CONFIG_LIMIT)
        separate = Table(found, _MODELOPT)
    types = {tensor.type for tensor in weights.tensors.values()}
    quantisation = read_quantisation(root, separate, types)
    layers = part.whole("num_hidden_layers", "n_layer", most=LAYERS)
    speculator = read_speculator(root, weights.tensors)
    is_draft = speculator is not None and not speculator.inside
    mtp = MtpFacts(state="none") if is_draft else mtp_facts(root, weights, quantisation, layers)
    body = tensor_facts(weights.tensors, quantisation)
    if not body.count:
        raise bad_checkpoint(f"{folder.path.name} holds weight files without a single tensor")
    return _Read(root, weights, quantisation, mtp, body, speculator)


def _geometry(read: _Read, part: Table) -> GeometryFacts | None:
    """Of a model and of a draft that keeps KV of its own."""
    if read.speculator is not None and read.speculator.shared_kv:
        return None
    served = read.mtp.heads if read.mtp.state == "present" else 0
    geometry = read_geometry(part, mtp_layers=served)
    if geometry is None:
        return None
    is_head = MtpNames(geometry.layers if read.mtp.heads else None)
    body = {name: each for name, each in read.weights.tensors.items() if not is_head(name)}
    routed = hf_experts(part, body)
    return with_experts(
        geometry,
        routed,
        table_m=table_parameters_m(read.weights.tensors),
        total=tensor_facts(body, read.quantisation).parameters if routed is not None else None,
    )


def _findings(read: _Read, geometry: GeometryFacts | None, folder: Folder) -> tuple[Finding, ...]:
    found = list(_mtp_findings(read.mtp))
    if read.weights.lost:
        found.append(
            warning(
                "index_lost_tensors",
                f"{INDEX} names {len(read.weights.lost)} tensors that are in no file: "
                f"{read.weights.lost[0][:80]}",
                hint="engines may refuse the checkpoint; pull it again",
            )
        )
    shared = read.speculator is not None and read.speculator.shared_kv
    if geometry is None and not shared:
        found.append(
            info("geometry_unknown", f"{folder.path.name}: how its layers keep memory is not known")
        )
    return tuple(found)


def _mtp_findings(mtp: MtpFacts) -> Iterator[Finding]:
    if mtp.state == "stripped":
        yield warning(
            "mtp_stripped",
            f"config.json promises prediction heads ({mtp.key} {mtp.heads}), "
            "but no tensor of them is there",
            hint="mtp will not run; take a checkpoint that kept them",
        )
    if mtp.state == "outside_index":
        yield warning(
            "mtp_outside_index",
            f"{mtp.outside} tensors of prediction heads lie in "
            f"{', '.join(mtp.outside_files)}, which {INDEX} does not name",
            hint="engines will not load them; --repair-index registers them",
        )
    if mtp.unquantised:
        yield warning(
            "mtp_unquantised",
            f"{len(mtp.unquantised)} weights of prediction heads are not quantised, and the "
            f"quantisation does not leave them out: {mtp.unquantised[0]}",
            hint="vLLM versions without a fix fail on their shapes; mtp is not taken",
            source="GH vllm-project/vllm#38832, #38650",
        )
