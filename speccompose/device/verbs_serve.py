"""The verbs that let a stack serve, look at it, and take it away.

Layer: device (standard library, Python 3.6 until a verb is called; see `verb`).
"""

import argparse

from speccompose.device.verb import (
    Report,
    Verb,
    name_of,
    own_folder,
    roots_of,
    stack_argument,
    this_board,
)


def _verify(options: argparse.Namespace) -> Report:
    from speccompose.device import long_prompt, operate

    name, roots, ports = name_of(options), roots_of(options), this_board()
    proof = operate.verify(name, roots, ports=ports, say=options.say)
    report = dict(proof._asdict())
    if options.long_prompt:
        answered = long_prompt.try_long_prompt(name, roots, ports=ports, say=options.say)
        report["long_prompt"] = dict(answered._asdict())
    return report


def _status(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    ports, roots = this_board(), roots_of(options)
    if options.stack is None and own_folder() is None:
        stacks = operate.all_status(roots, ports=ports)
    else:
        stacks = [operate.status(name_of(options), roots, ports=ports)]
    return {"stacks": [stack.as_dict() for stack in stacks]}


def _logs(options: argparse.Namespace) -> Report:
    from speccompose.device import operate

    text = operate.logs(name_of(options), roots_of(options), ports=this_board(), tail=options.tail)
    return {"name": name_of(options), "lines": text.splitlines()}


def _stop(options: argparse.Namespace) -> Report:
    from speccompose.device import take_down

    take_down.stop(name_of(options), roots_of(options), ports=this_board())
    return {"name": name_of(options), "stopped": True}


def _remove(options: argparse.Namespace) -> Report:
    from speccompose.device import take_down

    done = take_down.remove(
        name_of(options),
        roots_of(options),
        ports=this_board(),
        volumes=options.volumes,
        weights=options.weights,
    )
    return dict(done._asdict())


def _logs_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--tail", type=int, default=200, help="how many lines")


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    text = "also answer one prompt as long as the context"
    parser.add_argument("--long-prompt", action="store_true", help=text)


def _remove_arguments(parser: argparse.ArgumentParser) -> None:
    stack_argument(parser)
    parser.add_argument("--volumes", action="store_true", help="compile caches too")
    parser.add_argument("--weights", action="store_true", help="weights nobody else uses too")


VERBS = (
    Verb("verify", "health, one real answer, speculation, version", _verify_arguments, _verify),
    Verb("status", "how a stack stands; all of them without a name", stack_argument, _status),
    Verb("logs", "the last lines of the server's log", _logs_arguments, _logs),
    Verb("stop", "stop a stack; it stays installed", stack_argument, _stop),
    Verb("remove", "take a stack off this board", _remove_arguments, _remove),
)
