"""`fleet enroll`, `unenroll`, `probe`: who a board is, what it is, and who may deploy to it.

Layer: cli.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import click
import msgspec

from speccompose import enrolling
from speccompose.cli import asking
from speccompose.cli.fleet_session import AS_JSON, FLEET, Asked, opened
from speccompose.cli.output import echo, echo_json
from speccompose.enrolling import Answer
from speccompose.errors import ExitStatus, MismatchError, UsageError
from speccompose.fleet.ansible_settings import Reach
from speccompose.fleet.host_keys import Collected
from speccompose.report.table import columns

BOARDS = click.option("--board", "names", multiple=True, metavar="ID", help="only this one")
YES = click.option("--yes", is_flag=True, help="do not ask; keys are taken as they are shown")
CHECK = click.option("--check", is_flag=True, help="say what would change on boards, no more")


@click.command()
@FLEET
@BOARDS
@click.option("--bootstrap", is_flag=True, help="install what boards need, as root, once")
@click.option("--as", "admin", metavar="USER", help="who has sudo there, for --bootstrap")
@click.option("--signers", metavar="FILE", help="who may sign what is deployed")
@click.option("--replace-keys", is_flag=True, help="take changed host keys: boards were reflashed")
@CHECK
@YES
def enroll(
    file: Path,
    names: tuple[str, ...],
    bootstrap: bool,
    admin: str | None,
    signers: str | None,
    **how: bool,
) -> int:
    """Approve host keys, capture facts, and with --bootstrap install what boards need.

    Compare the fingerprints with the boards' own consoles (ssh-keygen -lf
    /etc/ssh/ssh_host_ed25519_key.pub), or let the fleet file name a CA. A changed key is refused.
    Done again, it changes nothing. Exit 13 when a board cannot be reached.
    """
    needs_bootstrap = [name for name, value in (("--as", admin), ("--signers", signers)) if value]
    if needs_bootstrap and not bootstrap:
        raise UsageError(
            f"{' and '.join(needs_bootstrap)}: for --bootstrap only, which was not asked for",
            hint="speccompose fleet enroll --bootstrap installs what boards need",
            code="bad_option",
        )
    content = signers_of(signers)
    asked = opened(file, boards=True, facts_wanted=False)
    boards = enrolling.chosen(asked.fleet, names)
    if approve_keys(asked, boards, replace=how["replace_keys"], yes=how["yes"], check=how["check"]):
        return int(ExitStatus.DONE)  # nobody is asked anything through a key that does not count
    answers = [*enrolling.probe_boards(boards)]
    if not how["check"]:
        keep(asked, answers)
    tell(answers, "facts captured")
    if bootstrap:
        answers += installed(boards, admin, content, check=how["check"])
    return int(status_of(answers))


@click.command()
@FLEET
@BOARDS
@click.option("--as", "admin", metavar="USER", help="who has sudo there")
@CHECK
@YES
def unenroll(file: Path, names: tuple[str, ...], admin: str | None, check: bool, yes: bool) -> int:
    """Take the deploy user's sudo rule off boards again; what serves there goes on serving."""
    asked = opened(file, boards=True, facts_wanted=False)
    boards = enrolling.chosen(asked.fleet, names)
    ask(f"take the deploy user's rights off {len(boards)} boards", yes or check)
    if admin is not None:
        boards = {
            name: msgspec.structs.replace(reach, user=admin) for name, reach in boards.items()
        }
    answers = [*enrolling.bootstrap(boards, "", signers=None, check=check, undo=True)]
    tell(answers, "nothing to take away")
    return int(status_of(answers))


@click.command()
@FLEET
@BOARDS
@AS_JSON
def probe(file: Path, names: tuple[str, ...], as_json: bool) -> int:
    """Ask boards what they are and keep it as facts/<board>.yaml; nothing is changed on them."""
    asked = opened(file, boards=True, facts_wanted=False)
    answers = [*enrolling.probe_boards(enrolling.chosen(asked.fleet, names))]
    keep(asked, answers)
    if as_json:
        echo_json({"boards": answers})
    else:
        tell(answers, "facts captured")
    return int(status_of(answers))


def approve_keys(
    asked: Asked, boards: Mapping[str, Reach], *, replace: bool, yes: bool, check: bool
) -> bool:
    """Show what is new, refuse what has changed, keep what is approved.

    Returns whether it ends here: with ``check`` new keys are shown and not kept.

    Raises:
        MismatchError: status 19; a board shows another key than was enrolled.
    """
    if asked.fleet.file.ssh.ca is not None:
        return False  # keys are vouched for by the fleet's CA
    found = enrolling.shown_keys(asked.fleet, boards)
    if found.changed and not replace:
        raise changed_keys(found)
    keys = (*found.new, *(new for _, new in found.changed))
    if not keys:
        return False
    rows = [[key.where, key.kind, key.fingerprint] for key in keys]
    echo("\n".join(["host keys that are new here", *columns(rows)]), err=True)
    if check:
        return True
    ask("are these the keys that the boards' own consoles show", yes)
    echo(f"written to {enrolling.keep_keys(asked.fleet, keys)}", err=True)
    return False


def changed_keys(found: Collected) -> MismatchError:
    """Another board, or somebody in between."""
    return MismatchError(
        "a board shows another host key than was enrolled",
        [f"{old.where}: {old.fingerprint} was enrolled, {new.fingerprint} is shown"
         for old, new in found.changed],
        hint="if it was reflashed: fleet enroll --replace-keys",
        code="host_key_changed",
    )  # fmt: skip


def installed(
    boards: Mapping[str, Reach], admin: str | None, signers: bytes | None, *, check: bool
) -> list[Answer]:
    """Install what boards need, each for its own deploy user; ``admin`` is who may do that."""
    answers: list[Answer] = []
    for user in sorted({reach.user or "" for reach in boards.values()}):
        if not user:
            raise UsageError(
                "no user is named for some boards",
                hint="ssh: {user: NAME} in the fleet file says who deploys",
                code="no_user",
            )
        own = {
            name: msgspec.structs.replace(reach, user=admin or user)
            for name, reach in boards.items()
            if reach.user == user
        }
        answers += enrolling.bootstrap(own, user, signers=signers, check=check, undo=False)
    tell(answers, "everything is there already")
    return answers


def signers_of(file: str | None) -> bytes | None:
    """The allowed-signers file.

    Raises:
        UsageError: it cannot be read.
    """
    if file is None:
        return None
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", code="no_signers") from None


def keep(asked: Asked, answers: Iterable[Answer]) -> None:
    """Write the facts of every board that answered."""
    for answer in answers:
        if answer.body is not None:
            enrolling.keep_facts(asked.fleet, answer)


def tell(answers: Iterable[Answer], nothing: str) -> None:
    """One row per board: what was done, or why not."""
    rows = []
    for answer in sorted(answers, key=lambda each: each.board):
        said = "; ".join(answer.done) or nothing
        if answer.body is None:
            said = f"{answer.reason}: {answer.message or 'no answer'}"
        rows.append([answer.board, said])
    echo("\n".join(columns(rows)))


def status_of(answers: Iterable[Answer]) -> ExitStatus:
    """13 when a board was not reached, 19 for another host key, 15 for what it refused."""
    reasons = {answer.reason for answer in answers if answer.body is None}
    if "identity" in reasons:
        return ExitStatus.MISMATCH
    away = {"timeout", "busy", "no_answer", "connection_lost"}
    if reasons - away:
        return ExitStatus.PREFLIGHT
    return ExitStatus.PENDING if reasons else ExitStatus.DONE


def ask(what: str, yes: bool) -> None:
    """Ask somebody who is there.

    Raises:
        UsageError: nobody is, and --yes is missing.
    """
    unattended = UsageError(f"nobody is here to say: {what}?", hint="add --yes", code="needs_yes")
    asking.confirm(f"{what}?", yes, unattended)
