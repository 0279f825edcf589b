"""How the server is started: entrypoint and command together, and words that went wrong in YAML.

Layer: lint. Pure. Field cases C-01 to C-05 and I-04.
"""

from collections.abc import Iterator

from speccompose.lint.interpolation import fill
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.server import Server
from speccompose.lint.service import Service
from speccompose.lint.words import Word, script_of, script_words
from speccompose.vocab.finding import error, warning

_START = {"vllm": "vllm serve MODEL", "llama.cpp": "llama-server"}


def unreadable_command(service: Service, ground: Ground) -> Iterator[Noted]:
    """A command that Compose cannot split."""
    for key, words in (("command", service.command), ("entrypoint", service.entrypoint)):
        if words is not None and words.unreadable is not None:
            yield at(
                words.line,
                error(
                    "command_unreadable",
                    f"{key} cannot be split into words: {words.unreadable}",
                    hint="write a list, one word per item",
                    source="GH vllm-project/vllm#32755",
                ),
            )


def bad_interpolation(service: Service, ground: Ground) -> Iterator[Noted]:
    """A ``${`` that Compose cannot read: the whole file is refused."""
    for key in ("image", "command", "entrypoint", "environment", "healthcheck"):
        for path, text in _texts(service.data.get(key), (key,)):
            for fault in fill(text).faults:
                yield at(
                    service.value_line(*path),
                    error(
                        "bad_interpolation",
                        f"Compose cannot read {fault.strip()!r} in {key}",
                        hint="close the brace, or double the dollar: $$",
                        source="compose-spec, interpolation; field case C-07",
                    ),
                )


def shell_variable(server: Server, ground: Ground) -> Iterator[Noted]:
    """A script that means its own environment, while Compose fills in that of the host."""
    service = server.service
    own = {variable.name for variable in service.environment}
    for path, text in _texts(service.data.get("command"), ("command",)):
        if server.start.script is None:
            return
        for name in dict.fromkeys(fill(text).variables):
            if name in own and f"${name}" in text:
                yield at(
                    service.value_line(*path),
                    warning(
                        "shell_variable",
                        f"${name} is filled in by Compose from the host, not from environment",
                        hint=f"write $${name} for the container's own",
                        source="compose-spec, interpolation; field case C-07",
                    ),
                )


def started_twice(server: Server, ground: Ground) -> Iterator[Noted]:
    """The command repeats what the image's entrypoint is already."""
    again, start = server.start.again, server.start
    if start.by_entrypoint and start.script is not None:
        yield at(
            start.script.line,
            error(
                "shell_after_entrypoint",
                f"the image starts `{_begun(server)}` itself: the shell becomes its arguments",
                hint="give the arguments alone as a list, or set entrypoint",
                source="GH vllm-project/vllm#32755; GH opea-project/GenAIExamples#520",
            ),
        )
    elif again is not None:
        yield at(
            again.line,
            error(
                "entrypoint_repeated",
                f"the image starts `{_begun(server)}` itself, the command says it again",
                hint="begin the command with the model, or set entrypoint",
                source="GH NVIDIA-AI-IOT/jetson-ai-lab#420; GH vllm-project/vllm#22072",
            ),
        )


def _begun(server: Server) -> str:
    return " ".join(word.text for word in server.start.begun)


def not_started(server: Server, ground: Ground) -> Iterator[Noted]:
    """Nothing starts the server: the image has no such entrypoint and the command does not."""
    service, image = server.service, server.image
    if server.start.begun or not service.whole or service.command is None:
        return
    own = image.own_entrypoint if image is not None else None
    if service.entrypoint is None and own is None:
        return
    words = (*(service.entrypoint.words if service.entrypoint else ()), *service.command.words)
    if any(not word.known for word in words) or not server.start.arguments:
        return
    yield at(
        service.command.line,
        error(
            "server_not_started",
            f"the image does not start {server.engine.name} by itself, nor does the command",
            hint=f"begin the command with `{_START[server.engine.id]}`",
            source="public README l4t-vllm; GH NVIDIA-AI-IOT/jetson-ai-lab#420",
        ),
    )


def glued_words(server: Server, ground: Ground) -> Iterator[Noted]:
    """Flag and value in one item of a list: one word, which no parser takes apart."""
    for given in server.arguments.given:
        if given.glued:
            yield at(
                given.word.line,
                error(
                    "glued_argument",
                    f"{given.name} and its value are one word here, no flag is called so",
                    hint="write two items, or --flag=value"
                    if server.is_vllm
                    else "write two items",
                    source="GH vllm-project/vllm#22072",
                ),
            )


def stray_backslash(service: Service, ground: Ground) -> Iterator[Noted]:
    """A shell's line ends in a YAML text: the backslash makes a space part of the next word."""
    for words in (service.command, service.entrypoint):
        if words is None:
            continue
        script = script_of(words.words)
        for word in script_words(script) if script else () if words.is_list else words.words:
            if _begins_with_space(word):
                yield at(
                    word.line,
                    error(
                        "stray_backslash",
                        "a backslash at a line end becomes part of the next word",
                        hint="drop the backslashes: YAML joins the lines of `>` itself",
                        source="compose-spec, command; mattn/go-shellwords",
                    ),
                )
                return


def _begins_with_space(word: Word) -> bool:
    bare = word.text.lstrip()
    return word.text != bare and (not bare or bare.startswith("-"))


def _texts(
    value: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in a part of a service, with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
    elif isinstance(value, str):
        yield path, value
