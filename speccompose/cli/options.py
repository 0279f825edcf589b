"""Plan options, once, for plan, render and deploy: flags in, StackRequest and BoardSource out.

Layer: cli.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from speccompose.cli import session
from speccompose.cli.numbers import Whole
from speccompose.errors import UsageError
from speccompose.settings import Settings
from speccompose.vocab.board import BoardSource
from speccompose.vocab.request import StackRequest
from speccompose.vocab.secret_names import names_secret
from speccompose.world.result_store import read_results

Verb = TypeVar("Verb", bound=Callable[..., Any])

METHODS = ("auto", "none", "mtp", "eagle3", "dflash", "dspark", "draft_model", "ngram")

_OPTION_OF = {"context_tokens": "--context", "set_flags": "--set"}
_WORDS = {"`int`": "a whole number", "`float`": "a number", "`str`": "text", "`null`": "nothing"}

_WHOLE = Whole(bounded=False)

_BOARD = (
    click.option("--device", metavar="ID", help="plan for this module (see catalog list)"),
    click.option("--l4t", metavar="X.Y.Z", help="with --device: its L4T (default: newest listed)"),
    click.option("--root", metavar="DIR", help="read the board from this root folder"),
    click.option("--facts", metavar="FILE", help="read the board from a facts file"),
    click.option("--assume-l4t", metavar="X.Y.Z", help="take this L4T; recorded in the plan"),
)
_STACK = (
    click.option("--model", metavar="M", help="catalog id, Hugging Face repo, or repo:QUANT"),
    click.option("--engine", type=click.Choice(["auto", "vllm", "llama.cpp"]), default="auto"),
    click.option("--method", type=click.Choice(METHODS), default="auto", help="speculation"),
    click.option("--draft", metavar="REPO", help="draft checkpoint"),
    click.option(
        "--depth",
        type=_WHOLE,
        metavar="N",
        help="draft tokens a pass; never adjusted",
    ),
    click.option("--workload", type=click.Choice(["chat", "code", "json"]), default="chat"),
    click.option("--context", type=_WHOLE, metavar="N", help="prompt plus output, tokens"),
    click.option("--concurrency", type=_WHOLE, default=1, metavar="N", show_default=True),
    click.option("--gpu-memory-utilization", type=float, metavar="X", help="vLLM's share"),
    click.option("--image", metavar="REF", help="this image instead of the chosen one"),
    click.option("--name", metavar="NAME", help="stack name; default from the model"),
    click.option(
        "--port",
        type=_WHOLE,
        metavar="N",
        help="default 8000 (vLLM), 8080 (llama.cpp)",
    ),
    click.option("--bind", default="127.0.0.1", metavar="ADDR", show_default=True),
    click.option("--api-key-file", metavar="FILE", help="needed for a bind beyond loopback"),
    click.option("--insecure", is_flag=True, help="bind beyond loopback without a key"),
    click.option("--force", is_flag=True, help="keep a utilization given by hand as it is"),
    click.option("--offline", is_flag=True, help="never ask a hub or registry"),
    click.option("--runtime", type=click.Choice(["container", "native"]), default="container"),
    click.option("--set", "set_flags", multiple=True, metavar="FLAG=VALUE", help="engine flag"),
)


def refuse_beside(what: str, allowed: tuple[str, ...]) -> None:
    """Refuse options of this command line that mean nothing beside ``what``.

    Raises:
        UsageError: naming them.
    """
    context = click.get_current_context()
    given = click.core.ParameterSource.COMMANDLINE
    useless = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in allowed
        and parameter.name is not None
        and context.get_parameter_source(parameter.name) is given
    ]
    if useless:
        raise UsageError(
            f"{', '.join(useless)} mean nothing beside {what}",
            hint="leave them out, or ask for one thing at a time",
            code="bad_option",
        )


def board_options(verb: Verb) -> Verb:
    """Add --device, --l4t, --root, --facts, --assume-l4t."""
    return _add(_BOARD, verb)


def stack_options(verb: Verb) -> Verb:
    """Add every plan option of the contract."""
    return _add(_STACK, verb)


def _add(options: tuple[Callable[[Verb], Verb], ...], verb: Verb) -> Verb:
    for option in reversed(options):
        verb = option(verb)
    return verb


def board_source(values: Mapping[str, Any], settings: Settings) -> BoardSource:
    """The board that the flags name; of this machine also what was measured on it.

    Raises:
        UsageError: flags that exclude each other.
        DataError: facts cannot be read.
    """
    named = [f"--{key}" for key in ("device", "root", "facts") if values.get(key)]
    if len(named) > 1:
        raise UsageError(
            f"{' and '.join(named)} exclude each other",
            hint="name one board; without any of them this machine is read",
            code="two_boards",
        )
    if values.get("l4t") and not values.get("device"):
        raise UsageError(
            "--l4t goes with --device only",
            hint="use --assume-l4t for a board that does not tell its release",
            code="l4t_without_device",
        )
    if values.get("assume_l4t") and values.get("device"):
        raise UsageError(
            "--assume-l4t does not go with --device", hint="use --l4t", code="assume_with_device"
        )
    if values.get("device"):
        return BoardSource(
            device=values["device"], l4t=values.get("l4t"), registries=settings.registries
        )
    facts = session.facts(values.get("root"), values.get("facts"))
    elsewhere = values.get("root") or values.get("facts")
    measured = () if elsewhere else read_results(Path(settings.state_root))
    return BoardSource(
        facts=facts,
        assume_l4t=values.get("assume_l4t"),
        measured=measured,
        registries=settings.registries,
    )


def stack_request(values: Mapping[str, Any], settings: Settings) -> StackRequest:
    """The request that the flags make.

    Raises:
        UsageError: a value out of range, or a malformed --set.
    """
    fields = {
        "model": values["model"],
        "context_tokens": values["context"],
        "set_flags": tuple(parse_set(item) for item in values["set_flags"]),
        "state_root": settings.state_root,
        "secrets_root": settings.secrets_root,
        "assume_l4t": values.get("assume_l4t"),
        "api_key_file": absolute_key(values["api_key_file"]),
    }
    same = set(StackRequest.__struct_fields__) - fields.keys()
    fields.update({name: values[name] for name in same})
    try:
        return msgspec.convert(fields, StackRequest)
    except msgspec.ValidationError as error:
        raise _bad_option(str(error), fields) from None


def _bad_option(told: str, fields: Mapping[str, Any]) -> UsageError:
    """Say in the user's words what the request's type says in its own: option, value, bound.

    ``told`` reads like "Expected `int` >= 1 - at `$.port`".
    """
    wanted, _, place = told.partition(" - at `$.")
    field = place.split("`")[0].split("[")[0]
    option = _OPTION_OF.get(field, f"--{field.replace('_', '-')}")
    for word, meant in _WORDS.items():
        wanted = wanted.replace(word, meant)
    return UsageError(
        f"{option} {fields.get(field)} is out of range",
        [f"{wanted[:1].lower()}{wanted[1:]}"],
        hint="speccompose plan --help tells what each option takes",
        code="bad_option",
    )


def _refuse_secret(flag: str) -> None:
    """No key or token in an argument list: plans, reports and `ps` would show it.

    Raises:
        UsageError: naming the flag and never the value.
    """
    if names_secret(flag):
        raise UsageError(
            f"--set {flag} is refused: secrets do not belong on a command line",
            hint="the server's key: --api-key-file FILE; the hub's token: "
            "SPECCOMPOSE_HUB_TOKEN_FILE, for pull alone",
            code="secret_in_option",
            source="rules section 5",
        )


def absolute_key(given: str | None) -> str | None:
    """The key file's whole path: a deploy, by hand or at a replan, may run in any other folder.

    It need not be there: the plan may be for another board. Deploy looks at it.

    Raises:
        UsageError: nothing was named, or `~` stands for no home.
    """
    if given is None:
        return None
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:
        raise UsageError(f"--api-key-file {given}: {error}", code="bad_key_path") from None
    if not given.strip() or given.endswith("/"):
        raise UsageError(
            f"--api-key-file '{given}' names no file",
            hint="name a file that holds the key and nothing else",
            code="bad_key_path",
        )
    return str(path.absolute())


def parse_set(item: str) -> tuple[str, str]:
    """`FLAG=VALUE` or `FLAG` (a switch) as a pair; leading dashes are optional.

    Raises:
        UsageError: no flag name, or a flag that holds a secret. Values are never told.
    """
    flag, _, value = item.partition("=")
    flag = "--" + flag.strip().lstrip("-")
    name = flag.split()[0]  # what follows a space was meant as a value, and may be a secret
    _refuse_secret(name)
    if name == "--" or name != flag:
        raise UsageError(
            f"--set {name}: wanted FLAG=VALUE" if name != "--" else "--set wants FLAG=VALUE",
            hint="for example --set swap-space=8; quote a value with spaces",
            code="bad_set",
        )
    return flag, value
