"""The text of a Compose file -> every finding, in the order of its lines.

Layer: lint. Pure. The tables below are the whole registry of rules: to add one, write a function in
the module that it belongs to and a line here.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from speccompose.catalog.problem import MOST_SHOWN
from speccompose.lint import (
    board,
    environment,
    faults,
    flags,
    gpu,
    health,
    host,
    image,
    json_values,
    keys,
    lifetime,
    memory,
    model,
    network,
    pairs,
    secrets,
    speculation,
    starting,
    together,
)
from speccompose.lint.compose_file import ComposeFile, read_compose
from speccompose.lint.noted import (
    Ground,
    Noted,
    ServerRule,
    ServiceRule,
    Stack,
    StackRule,
    at,
)
from speccompose.lint.server import read_server
from speccompose.lint.service import read_services
from speccompose.vocab.finding import info, warning
from speccompose.vocab.lint import LintFinding
from speccompose.vocab.secret_names import mask

MOST_SERVICES: Final = 64
MOST_DOCUMENTS: Final = 16
"""Services of a document, documents of a file: no board serves more, and each takes its time."""

SERVER_RULES: Final[tuple[ServerRule, ...]] = (
    starting.shell_variable,
    starting.started_twice,
    starting.not_started,
    starting.glued_words,
    flags.unknown_flags,
    flags.missing_values,
    flags.values_too_many,
    flags.equals_sign,
    flags.twice_given,
    json_values.broken_json,
    speculation.config_keys,
    speculation.config_types,
    speculation.missing_parts,
    speculation.deprecated_method,
    speculation.flipped_method,
    speculation.draft_without_type,
    speculation.given_twice,
    pairs.foreign_draft,
    pairs.depth_out_of_bounds,
    pairs.deeper_than_start,
    faults.unheeded_faults,
    model.no_model,
    model.unmounted_path,
    model.no_cache,
    model.no_served_name,
    model.wrong_container,
    image.unusable_reference,
    image.floating_tag,
    image.unknown_image,
    image.too_old,
    image.other_board,
    image.wrong_era,
    image.pulled_at_start,
    gpu.two_ways,
    gpu.no_way,
    gpu.not_the_runtime,
    gpu.disabled_check,
    memory.share_too_large,
    memory.defaults_left,
    memory.unbounded_context,
    memory.large_batches,
    memory.no_free_slots,
    memory.slots_share_context,
    network.discarded_ports,
    network.published_elsewhere,
    network.unreachable,
    network.open_to_all,
    network.bridge_on_jetson,
    health.no_check,
    health.malformed_test,
    health.wrong_port,
    health.early_path,
    health.missing_tool,
    health.short_patience,
    secrets.in_command,
    host.privileged,
    host.wide_rights,
    host.shared_memory,
    lifetime.unbounded_restart,
    lifetime.no_restart,
    lifetime.no_init,
    lifetime.terminal,
    environment.empty_variable,
    environment.ignored_variable,
    environment.longer_than_made,
    board.unfit_checkpoint,
    board.refused_speculation,
    board.eager_on_small_boards,
    board.narrow_kv_on_orin,
    board.memory_does_not_fit,
)
"""Asked of every service that runs vLLM or llama.cpp."""

SERVICE_RULES: Final[tuple[ServiceRule, ...]] = (
    keys.unknown_key,
    starting.unreadable_command,
    starting.bad_interpolation,
    starting.stray_backslash,
    secrets.in_environment,
    host.docker_socket,
)
"""Asked of the services of a stack that has such a server."""

STACK_RULES: Final[tuple[StackRule, ...]] = (
    together.shares_add_up,
    together.same_port,
    together.starting_together,
    together.impatient_clients,
    board.board_findings,
)
"""Asked of all services of a document together."""


def lint_text(text: str, name: str, ground: Ground) -> tuple[LintFinding, ...]:
    """Everything that the rules say of one file; a note when they have nothing to judge.

    Raises:
        InvalidDataError: the text is no YAML; with line and column.
    """
    documents = read_compose(text, name)
    noted: list[Noted] = []
    hidden: list[str] = []
    judged = False
    for document in documents[:MOST_DOCUMENTS]:
        stack = _stack(document, ground)
        if stack.servers:
            judged = True
            noted += _of_stack(stack, ground)
            hidden += secrets.values(stack)
    if not judged:
        noted.append(_nothing_to_judge(documents))
    for document in documents[MOST_DOCUMENTS : MOST_DOCUMENTS + 1]:
        noted.append(_too_many(document.line(()), f"{len(documents)} documents"))
    return _sorted(noted, name, tuple(hidden))


def _stack(document: ComposeFile, ground: Ground) -> Stack:
    services = read_services(document)
    servers = (read_server(service, ground.catalog) for service in services[:MOST_SERVICES])
    return Stack(
        services=services, servers=tuple(server for server in servers if server is not None)
    )


def _of_stack(stack: Stack, ground: Ground) -> Iterator[Noted]:
    if len(stack.services) > MOST_SERVICES:
        first = stack.services[MOST_SERVICES]
        yield _too_many(first.line, f"{len(stack.services)} services")
    for service in stack.services[:MOST_SERVICES]:
        for rule in SERVICE_RULES:
            yield from rule(service, ground)
    for server in stack.servers:
        for server_rule in SERVER_RULES:
            yield from server_rule(server, ground)
    for stack_rule in STACK_RULES:
        yield from stack_rule(stack, ground)


def _too_many(line: int, what: str) -> Noted:
    return at(
        line,
        warning(
            "not_all_judged",
            f"from here on nothing is judged: {what} are too many",
            hint="give lint the parts",
            source="contract, lint",
        ),
    )


def _nothing_to_judge(documents: tuple[ComposeFile, ...]) -> Noted:
    if not documents or all(document.document.data is None for document in documents):
        what = "the file is empty"
    elif not any(isinstance(document.data.get("services"), dict) for document in documents):
        what = "this is no Compose file: it has no mapping `services`"
    else:
        what = "no service here runs vLLM or llama.cpp"
    return at(
        1,
        info(
            "nothing_to_lint",
            what,
            hint="lint judges services that run vLLM or llama.cpp",
            source="contract, lint",
        ),
    )


def _sorted(noted: Iterable[Noted], name: str, hidden: tuple[str, ...]) -> tuple[LintFinding, ...]:
    """By line, each once (services share anchors), and of one kind no more than anybody mends."""
    by_code: dict[str, dict[Noted, None]] = {}
    for each in sorted(noted, key=lambda each: each.line):
        by_code.setdefault(each.finding.code, {})[each] = None
    found = [
        _as_told(each, name, hidden, more=len(same) - MOST_SHOWN if at_last else 0)
        for same in by_code.values()
        for place, each in enumerate(list(same)[:MOST_SHOWN], start=1)
        for at_last in [place == MOST_SHOWN]
    ]
    return tuple(sorted(found, key=lambda each: each.line or 0))


def _as_told(noted: Noted, name: str, hidden: tuple[str, ...], *, more: int) -> LintFinding:
    finding = noted.finding
    message = f"{finding.message} (and {more} more)" if more > 0 else finding.message
    return LintFinding(
        severity=finding.severity,
        code=finding.code,
        message=_without(message, hidden),
        hint=_without(finding.hint, hidden) if finding.hint else None,
        source=finding.source,
        file=name,
        line=noted.line,
    )


def _without(text: str, hidden: tuple[str, ...]) -> str:
    """A text without the file's secrets."""
    for secret in hidden:
        text = text.replace(secret, "***")
    return mask(text)
