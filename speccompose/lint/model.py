"""The model that a server is given: whether it is there, kept, and served under its name.

Layer: lint. Pure. Field cases C-04, N-01, M-02.
"""

from collections.abc import Iterator
from typing import Final

from speccompose.engines.flags import is_known
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server, Setting
from speccompose.lint.spec import read_speculation
from speccompose.vocab.finding import error, info, warning

_HUB_CACHES: Final = (
    "/root/.cache",
    "/root",
    "/home",
    "/data",
    "/models",
    "/cache",
    "/huggingface",
)
"""Where images keep what they download, as far as nothing else is said."""

_CACHE_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "LLAMA_CACHE")


def target_of(server: Server) -> Setting | None:
    """The model: vLLM's first word or --model, llama.cpp's file or repository."""
    leading = server.arguments.leading
    if server.is_vllm and leading and not server.start.module:
        word = leading[0]
        return Setting(text=word.text if word.known else None, line=word.line)
    names = ("--model",) if server.is_vllm else ("-m", "-hf")
    found = [setting for name in names if (setting := server.setting(name)) is not None]
    return found[0] if found else None


def no_model(server: Server, ground: Ground) -> Iterator[Noted]:
    """A server without a model: vLLM takes a default one, llama.cpp serves none."""
    if not server.whole or target_of(server) is not None or server.start.again is not None:
        return
    if any(server.given(name) for name in ("--config", "--models-dir", "--models-preset", "-mu")):
        return
    what = (
        "no model is named: vLLM downloads and serves its own default"
        if server.is_vllm
        else "no model is named: health is 200 at once, with nothing loaded"
    )
    yield at(
        server.start.begun[-1].line,
        error("no_model", what, hint="name it", source="llama-server 0.7.0 run; vllm serve --help"),
    )


def unmounted_path(server: Server, ground: Ground) -> Iterator[Noted]:
    """A path inside the container that nothing is mounted at: the image holds no such weights."""
    spec = read_speculation(server, ground.catalog)
    draft = Setting(text=spec.draft, line=spec.line) if spec is not None else None
    service = server.service
    known = all(volume.known for volume in service.volumes)
    if "build" in service.data or not service.whole or not known or server.image is None:
        return
    for setting in (target_of(server), draft):
        text = setting.text if setting is not None else None
        if setting is None or text is None or not text.startswith("/"):
            continue
        if not any(_is_below(text, volume.target) for volume in service.volumes):
            yield at(
                setting.line,
                error(
                    "model_not_mounted",
                    f"{text} is inside the container and no volume brings it there",
                    hint="mount the folder that holds it, read-only",
                    source="field case N-01",
                ),
            )


def _is_below(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")


def _is_repo(text: str) -> bool:
    name = text.partition(":")[0]
    return name.count("/") == 1 and not name.startswith((".", "/", "~"))


def no_cache(server: Server, ground: Ground) -> Iterator[Noted]:
    """Weights from the hub that no volume keeps: downloaded again with every new container."""
    service, target = server.service, target_of(server)
    if target is None or target.text is None or not _is_repo(target.text) or not service.whole:
        return
    if any(
        volume.target in _cache_places(server) or _keeps(server, volume.target)
        for volume in service.volumes
    ):
        yield from _downloads(server, target)
        return
    offline = any(
        (variable := service.variable(name)) is not None and variable.value in ("1", "true")
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )
    if offline:
        yield at(
            target.line,
            error(
                "offline_without_weights",
                f"{target.text} is to be found offline, and no volume holds it",
                hint="mount the weights, or the hub's cache",
                source="GH vllm-project/vllm#9255",
            ),
        )
        return
    yield at(
        target.line,
        warning(
            "no_model_cache",
            f"{target.text} is downloaded, and lost with the container",
            hint="mount a volume at /root/.cache/huggingface, or pull first and mount the folder",
            source="public README l4t-vllm",
        ),
    )


def _cache_places(server: Server) -> set[str]:
    variables = (server.service.variable(name) for name in _CACHE_VARIABLES)
    return {(each.value or "").rstrip("/") for each in variables if each is not None and each.value}


def _keeps(server: Server, target: str) -> bool:
    """Whether a mounted folder may be one that the image downloads into."""
    named = _cache_places(server)
    if named:
        return any(_is_below(place, target) or _is_below(target, place) for place in named)
    return any(_is_below(target, place) for place in _HUB_CACHES) or "cache" in target


def _downloads(server: Server, target: Setting) -> Iterator[Noted]:
    if any(server.service.variable(name) for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")):
        return
    yield at(
        target.line,
        info(
            "downloads_at_start",
            f"{target.text} is asked for at the hub with every start",
            hint='once it is there, set HF_HUB_OFFLINE: "1" so that a start needs no network',
            source="GH vllm-project/vllm#9255",
        ),
    )


def no_served_name(server: Server, ground: Ground) -> Iterator[Noted]:
    """A path as the model's name: clients must then ask for the path."""
    flag = "--served-model-name" if server.is_vllm else "--alias"
    target = target_of(server)
    if target is None or target.text is None or not target.text.startswith("/"):
        return
    if server.whole and server.setting(flag) is None:
        yield at(
            target.line,
            warning(
                "no_served_name",
                f"clients must ask for the model {target.text}",
                hint=f"add {flag} with the repository's name",
                source="rules section 3",
            ),
        )


def wrong_container(server: Server, ground: Ground) -> Iterator[Noted]:
    """A GGUF for vLLM, or anything but a GGUF as llama.cpp's file."""
    target = target_of(server)
    text = target.text if target is not None else None
    if target is None or text is None:
        return
    gguf = text.lower().endswith(".gguf") or "gguf" in text.lower().rpartition("/")[2]
    if server.is_vllm and gguf:
        version = server.version
        gone = version is not None and not is_known(server.engine, version, "--load-format", "gguf")
        finding = error if gone else warning
        yield at(
            target.line,
            finding(
                "gguf_for_vllm",
                f"{text} is a GGUF, which vLLM reads badly and from 0.24 on not at all",
                hint="serve it with llama.cpp, or take another format",
                source="GH dusty-nv/jetson-containers#795; vllm/config/load.py of 0.24.0",
            ),
        )
    elif not server.is_vllm and server.given("-m") is not None and not gguf and _is_repo(text):
        yield at(
            target.line,
            error(
                "no_gguf",
                f"-m wants a GGUF file, {text} is a repository",
                hint="use -hf for a repository with a GGUF",
                source="llama-server --help of build 11669",
            ),
        )
