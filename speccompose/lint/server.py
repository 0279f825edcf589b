"""A service that runs vLLM or llama.cpp -> how it is started and with which flags.

Layer: lint. Pure. The engine is told by the image's name or by what the command starts; other
services are no servers and get none of the engines' rules.
"""

import re
from collections.abc import Sequence
from typing import Final

from speccompose.catalog.problem import KeyPath
from speccompose.engines.flags import find_flag
from speccompose.lint.arguments import Arguments, Given, is_flag, named, read_arguments
from speccompose.lint.compose_file import WordFinder
from speccompose.lint.known_image import KnownImage, read_image
from speccompose.lint.service import Service
from speccompose.lint.words import Word, script_of, script_words, until_end
from speccompose.vocab.base import Frozen
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.engine import EngineEntry
from speccompose.vocab.image import EngineName

_VLLM_MODULE: Final = "vllm.entrypoints.openai.api_server"
_REPOSITORY: Final = re.compile(r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.:-]*$")
_VLLM_CLI: Final = "vllm.entrypoints.cli.main"


class Start(Frozen, frozen=True, kw_only=True):
    """How the server is started.

    ``begun``: the words that start it, empty when nothing does. ``script``: the shell script that
    it stands in. ``again``: a word that starts what the entrypoint starts already.
    """

    engine: EngineName | None = None
    begun: tuple[Word, ...] = ()
    arguments: tuple[Word, ...] = ()
    script: Word | None = None
    again: Word | None = None
    by_entrypoint: bool = False
    module: bool = False


class Setting(Frozen, frozen=True, kw_only=True):
    """A flag's value, or that of the variable which stands for it. ``text`` None: not known."""

    text: str | None
    line: int

    @property
    def number(self) -> float | None:
        """The value as a number; K, M and G as vLLM reads them."""
        return _number(self.text or "")


class Server(Frozen, frozen=True, kw_only=True):
    """One server. ``whole``: what is absent is really absent."""

    service: Service
    engine: EngineEntry
    image: KnownImage | None
    start: Start
    arguments: Arguments

    @property
    def is_vllm(self) -> bool:
        """Whether it is vLLM, and not llama.cpp."""
        return self.engine.id == "vllm"

    @property
    def version(self) -> str | None:
        """The engine's version, None where nobody can tell."""
        return self.image.version if self.image is not None else None

    @property
    def whole(self) -> bool:
        """Whether every flag that it gets is in the file."""
        return self.service.whole and self.arguments.known and bool(self.start.begun)

    def given(self, name: str) -> Given | None:
        """The last time that a flag is given: engines take that one."""
        found = list(named(self.arguments, self.engine, name))
        return found[-1] if found else None

    def setting(self, name: str) -> Setting | None:
        """A flag's value; for llama.cpp also that of its LLAMA_ARG_ variable."""
        given = self.given(name)
        if given is not None:
            value = given.value
            known = given.is_known and given.field is None and value is not None
            return Setting(text=value.text if known and value else None, line=given.word.line)
        for variable in self.service.environment if not self.is_vllm else ():
            if variable.name in _variables_of(self.engine, name):
                text = variable.value if variable.known else None
                return Setting(text=text, line=variable.line)
        return None


def read_server(service: Service, catalog: Catalog) -> Server | None:
    """The server in a service, None where it runs something else."""
    image = None
    if service.image is not None and service.image.known:
        image = read_image(service.image.text, catalog)
    start = _start(service, image)
    engine = start.engine or (image.engine if image is not None else None)
    if engine is None and service.image is not None and "build" not in service.data:
        engine = read_image(service.image.text, catalog).engine
    if engine is None:
        return None
    if engine != (image.engine if image is not None else engine):
        image = None if image is None else KnownImage(text=image.text, reference=None, engine=None)
    entry = catalog.engines[engine]
    version = image.version if image is not None else None
    return Server(
        service=service,
        engine=entry,
        image=image,
        start=start,
        arguments=read_arguments(entry, version, start.arguments),
    )


def _start(service: Service, image: KnownImage | None) -> Start:
    """Entrypoint and command together, as the container is started."""
    own = service.entrypoint
    command = service.command.words if service.command is not None else ()
    if own is not None:
        return _find((*own.words, *command), service) or Start()
    inherited = image.own_entrypoint if image is not None else None
    line = service.line
    before = tuple(Word(text=text, line=line) for text in inherited or ())
    first = _begins(before)
    inside = _find(command, service)
    if first is None:
        return inside or Start(arguments=_if_arguments(command))
    engine, used, module = first
    again = inside.begun[0] if inside is not None else None
    if again is None and command and command[0].text == "serve" and engine == "vllm":
        again = command[0]
    arguments = inside.arguments if inside is not None else command
    return Start(
        engine=engine,
        begun=before[:used],
        arguments=arguments[1:] if inside is None and again is not None else arguments,
        script=script_of(command),
        again=again,
        by_entrypoint=True,
        module=module,
    )


def _find(words: Sequence[Word], service: Service) -> Start | None:
    """The server among the words, also inside a script."""
    script = script_of(words)
    if script is not None:
        place = _place_of(script, service)
        finder = WordFinder(service.file, place) if place is not None else None
        found = _search(script_words(script, finder))
        if found is None:
            return None
        engine, begun, arguments, module = found
        return Start(
            engine=engine,
            begun=begun,
            arguments=until_end(arguments),
            script=script,
            module=module,
        )
    found = _search(words)
    if found is None:
        return None
    engine, begun, arguments, module = found
    return Start(engine=engine, begun=begun, arguments=arguments, module=module)


def _place_of(script: Word, service: Service) -> KeyPath | None:
    """Where a script is written: a text of its own, or an item of a list."""
    for key, words in (("command", service.command), ("entrypoint", service.entrypoint)):
        for index, word in enumerate(words.words if words is not None else ()):
            if word is script:
                listed = words is not None and words.is_list
                return service.place(key, index) if listed else service.place(key)
    return None


def _search(
    words: Sequence[Word],
) -> tuple[EngineName, tuple[Word, ...], tuple[Word, ...], bool] | None:
    for at in range(len(words)):
        begins = _begins(words[at : at + 3])
        if begins is not None:
            engine, used, module = begins
            return engine, tuple(words[at : at + used]), tuple(words[at + used :]), module
    return None


def _begins(words: Sequence[Word]) -> tuple[EngineName, int, bool] | None:
    """Engine, number of words, and whether a Python module is run, if a server starts here."""
    texts = [word.text for word in words]
    if not texts:
        return None
    if words[0].base == "vllm" and texts[1:2] == ["serve"]:
        return "vllm", 2, False
    if texts[:2] == ["-m", _VLLM_MODULE]:
        return "vllm", 2, True
    if texts == ["-m", _VLLM_CLI, "serve"]:
        return "vllm", 3, False
    if words[0].base in ("llama-server", "llama-server.exe"):
        return "llama.cpp", 1, False
    return None


def _if_arguments(words: Sequence[Word]) -> tuple[Word, ...]:
    """Words that can only be meant as a server's arguments, though nothing starts it.

    A flag comes first, or a repository and then a flag; anything else may be a program of its own.
    """
    texts = [word.text for word in words[:2]]
    repository = bool(texts) and _REPOSITORY.match(texts[0]) is not None
    meant = is_flag(texts[0]) or (repository and all(map(is_flag, texts[1:]))) if texts else False
    return tuple(words) if meant else ()


def _variables_of(engine: EngineEntry, name: str) -> frozenset[str]:
    """Environment variables of llama.cpp that stand for a flag (common/arg.cpp)."""
    row = find_flag(engine, name)
    spellings = row.spellings if row is not None else (name,)
    words = [each[2:].upper().replace("-", "_") for each in spellings if each.startswith("--")]
    return frozenset(f"LLAMA_ARG_{prefix}{word}" for word in words for prefix in ("", "N_"))


_UNITS: Final = {"k": 1e3, "K": 1024, "m": 1e6, "M": 1024**2, "g": 1e9, "G": 1024**3}


def _number(text: str) -> float | None:
    factor = _UNITS.get(text[-1:], 1)
    digits = text[:-1] if text[-1:] in _UNITS else text
    try:
        number = float(digits) * factor
    except ValueError:
        return None
    return number if abs(number) < 1e18 else None
