"""A config's quantisation settings -> the catalog's format, the packing, and what is left out.

Layer: checkpoint. Pure. The settings differ per tool (compressed-tensors, ModelOpt, AWQ, GPTQ,
AutoRound, FP8, MXFP4); a tool that is not known here leaves the format unknown.
"""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from speccompose.checkpoint.table import Table
from speccompose.vocab.model import Format

_HALF = {"bf16", "f16"}


class Quantisation(NamedTuple):
    """``bits`` of packed weights. ``left_out``: patterns of modules that stay unquantised."""

    format: Format | None
    words: str | None
    bits: int | None = None
    left_out: tuple[str, ...] = ()

    def leaves_out(self, tensor: str) -> bool:
        """Whether a tensor belongs to a module that the settings leave unquantised."""
        module = tensor.removesuffix(".weight")
        return any(_matches(pattern, module) for pattern in self.left_out)


def read_quantisation(config: Table, separate: Table | None, types: set[str]) -> Quantisation:
    """Settings from config.json, or from ModelOpt's own file; ``types`` are the stored types."""
    settings = config.table("quantization_config")
    if settings is None:
        settings = config.text_part().table("quantization_config")
    if settings is None and separate is not None:
        settings = separate.table("quantization")
    if settings is None:
        plain = bool(types & _HALF) and not types - _HALF - {"f32", "i64", "bool", "i32"}
        return Quantisation("bf16" if plain else None, None)
    method = settings.text("quant_method") or ("modelopt" if settings.raw("quant_algo") else "")
    layout = settings.text("format") or settings.text("quant_algo") or ""
    bits = _bits(settings)
    words = " ".join(part for part in (method, layout, f"{bits} bit" if bits else "") if part)
    found = _format(method.lower(), layout.lower(), bits, types)
    return Quantisation(found, words or None, bits, _left_out(settings))


def _format(method: str, layout: str, bits: int | None, types: set[str]) -> Format | None:
    if "nvfp4" in layout or method == "modelopt_fp4":
        return "nvfp4"
    if "mxfp4" in method or "mxfp4" in layout:
        return "mxfp4"
    four = bits == 4 and ("i32" in types or "u8" in types)
    if method in ("awq", "gptq", "auto-round", "intel/auto-round") and four:
        eight = bool(types & {"f8_e4m3", "f8_e5m2"})
        return "int4-fp8" if eight else "awq" if method == "awq" else "gptq"
    if method == "compressed-tensors" and layout == "pack-quantized" and four:
        return "w4a16"
    if method in ("fp8", "fbgemm_fp8") or layout in ("float-quantized", "fp8"):
        return "fp8"
    return _mixed(types) if "mixed" in layout else None


def _mixed(types: set[str]) -> Format | None:
    """ModelOpt's MIXED_PRECISION and compressed-tensors' mixed: by the smallest type there is."""
    if "u8" in types and "f8_e4m3" in types:
        return "nvfp4"
    return "fp8" if "f8_e4m3" in types else None


def _bits(settings: Table) -> int | None:
    """Bits of the weights; None where several groups differ or nothing says so."""
    own = settings.whole("bits", "w_bit", most=16, least=1)
    if own is not None:
        return own
    found = set()
    for group in settings.tables("config_groups"):
        weights = group.table("weights")
        bits = weights.whole("num_bits", most=16, least=1) if weights else None
        if bits is not None:
            found.add(bits)
    return found.pop() if len(found) == 1 else None


def _left_out(settings: Table) -> tuple[str, ...]:
    """Every spelling: lists of patterns, GPTQ's negative rules, AutoRound's 16-bit modules."""
    found: list[str] = []
    for key in ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"):
        found += settings.texts(key)
    dynamic = settings.table("dynamic")
    if dynamic is not None:
        found += [f"re:{key[2:]}" for key in dynamic.listed() if key.startswith("-:")]
    extra = settings.table("extra_config")
    if extra is not None:
        for key in extra.listed():
            rule = extra.raw(key)
            if isinstance(rule, dict) and rule.get("bits") == 16:
                found.append(key)
    return tuple(found)


def _matches(pattern: str, module: str) -> bool:
    """A pattern names a module, a parent of it, or a part of its name; 're:' is a regex."""
    if pattern.startswith("re:"):
        try:
            return re.match(pattern[3:], module) is not None
        except re.error:
            return False
    if any(mark in pattern for mark in "*?["):
        return fnmatchcase(module, pattern)
    return module == pattern or f".{pattern}." in f".{module}."
