"""What acts on this machine: deploy, pull, and the previews of both.

Layer: pipeline, beside pipeline.py. The acting itself is device/, the same code that boards run;
here a request becomes a stack folder, its image and weights are brought before anything is
switched, and errors are translated.
"""

import difflib
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import msgspec

from speccompose.device import gate, operate, pull, transaction
from speccompose.device.errors import DeviceError
from speccompose.device.order import Order
from speccompose.device.paths import known_stacks
from speccompose.device.ports import Ports, Progress
from speccompose.device.record import SERVING
from speccompose.device.transaction import DeployResult
from speccompose.errors import DataError, MemoryFitError, UsageError
from speccompose.local_model import with_local_model
from speccompose.pipeline import plan_stack, render_plan
from speccompose.plan.assemble import stack_name
from speccompose.plan.models import find_model
from speccompose.settings import Settings
from speccompose.vocab.base import Frozen
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog
from speccompose.vocab.document import PlanDocument
from speccompose.vocab.finding import Finding, info
from speccompose.vocab.plan import StackPlan
from speccompose.vocab.preview import Preview
from speccompose.vocab.request import StackRequest
from speccompose.world.neighbours import planned_elsewhere_mib
from speccompose.world.onboard import as_finding, as_our_errors, roots, sources
from speccompose.world.result_store import read_results
from speccompose.world.stack_folder import write_stack

Say = Callable[[Progress], None]


class Here(Frozen, frozen=True, kw_only=True):
    """This machine as the serving verbs see it."""

    settings: Settings
    catalog: Catalog
    ports: Ports
    say: Say
    order: Order = Order()


def plan_here(
    request: StackRequest, board: BoardSource, here: Here, *, replan: bool = False
) -> StackPlan:
    """Plan for this machine with what the committed release was planned with.

    So the same deploy twice has the same digest although the running stack holds memory; if it no
    longer fits that way, the board is read again (rules section 4). What acceptances measured here
    counts too.
    """
    catalog = with_local_model(request, here.catalog, date.today())
    measured = read_results(Path(here.settings.state_root))
    elsewhere = planned_elsewhere_mib(_name(request, catalog), roots(here.settings))
    board = msgspec.structs.replace(
        board,
        measured=measured,
        elsewhere_mib=elsewhere,
        registries=here.settings.registries,
    )
    committed = None if replan else committed_plan(request, here)
    if committed is None or committed.memory is None:
        return plan_stack(request, board, catalog)
    known = msgspec.structs.replace(board, committed_available_mib=committed.memory.available_mib)
    try:
        return plan_stack(request, known, catalog)
    except MemoryFitError:
        return plan_stack(request, board, catalog)


def deploy_request(
    request: StackRequest, board: BoardSource, here: Here, *, replan: bool = False
) -> DeployResult:
    """Plan, render, bring image and weights, switch, start, prove; or leave all as it was."""
    plan = plan_here(request, board, here, replan=replan)
    return deploy_plan(plan, here)


def deploy_plan(plan: StackPlan, here: Here) -> DeployResult:
    """Deploy a finished plan on this machine."""
    stack = render_plan(plan, here.catalog)
    with tempfile.TemporaryDirectory(prefix="speccompose-") as folder:
        target = Path(folder) / plan.name
        write_stack(stack, target)
        return deploy_folder(target, here, offline=plan.request.offline)


def deploy_folder(folder: Path, here: Here, *, offline: bool = False) -> DeployResult:
    """Deploy a rendered folder: what is missing is pulled before the transaction begins.

    What would refuse the deploy afterwards refuses it before gigabytes are brought.
    """
    place = roots(here.settings)
    with as_our_errors():
        transaction.refuse_early(folder, place, ports=here.ports, order=here.order)
        if not offline:
            transaction.refuse_before_pull(folder, place, ports=here.ports)
            _bring(folder, here)
        return transaction.deploy(folder, place, ports=here.ports, say=here.say, order=here.order)


def pull_folder(folder: Path, here: Here) -> pull.PullResult:
    """Bring image and weights of a rendered folder; what is complete is not asked for again."""
    with as_our_errors():
        gate.refuse_bad_disks(folder, roots(here.settings), ports=here.ports)
        return _bring(folder, here)


def _bring(folder: Path, here: Here) -> pull.PullResult:
    return pull.pull_stack(
        folder,
        roots(here.settings),
        ports=here.ports,
        sources=sources(here.settings, here.catalog),
        say=here.say,
    )


def find_folder(stack: str, settings: Settings) -> Path:
    """The folder that STACK means: a rendered folder, or the installed stack of that name.

    Raises:
        UsageError: neither, or both; the installed names are told.
    """
    folder = _rendered_folder(stack, settings)
    if folder is not None:
        return folder
    with as_our_errors():
        return operate.installed_folder(stack, roots(settings))


def stack_of(stack: str, settings: Settings) -> str:
    """The name that STACK means: itself, or the one that a rendered folder's plan carries.

    Raises:
        UsageError: a path that holds no plan.
        DataError: its plan cannot be read.
    """
    folder = _rendered_folder(stack, settings)
    return stack if folder is None else _name_in(folder)


def _rendered_folder(stack: str, settings: Settings) -> Path | None:
    """The rendered folder that STACK means; None when it is a name.

    A name is not looked up in the working folder when a stack is installed under it and the
    folder is of another one: `remove x` must never mean something else than it says.
    """
    path = Path(stack)
    if (path / "plan.json").is_file():
        installed = stack in known_stacks(roots(settings))
        if installed and _name_in(path) != stack:
            raise UsageError(
                f"{stack} is an installed stack, and a folder here that holds another one",
                [f"the plan in ./{stack} is of {_name_in(path)}"],
                hint=f"./{stack} means the folder; the stack is meant from any other place",
                code="ambiguous_stack",
            )
        return path
    if "/" in stack:
        raise UsageError(
            f"{stack} is no rendered stack (it holds no plan.json)",
            hint="speccompose render --model M -o DIR writes one",
            code="no_stack_folder",
        )
    return None


class _Named(msgspec.Struct):
    """The one key that every version's plan.json has."""

    name: str


def _name_in(folder: Path) -> str:
    file = folder / "plan.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Named).name
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(f"cannot read {file}", [str(error)], code="bad_plan") from None


def preview_request(
    request: StackRequest, board: BoardSource, here: Here, *, replan: bool = False
) -> Preview:
    """What deploy would do; nothing is touched."""
    plan = plan_here(request, board, here, replan=replan)
    stack = render_plan(plan, here.catalog)
    with tempfile.TemporaryDirectory(prefix="speccompose-") as folder:
        write_stack(stack, Path(folder) / plan.name)
        return preview_folder(Path(folder) / plan.name, here, offline=request.offline)


def preview_folder(folder: Path, here: Here, *, offline: bool = False) -> Preview:
    """What deploying a rendered folder would do; nothing is touched.

    Raises:
        SpecComposeError: 3 and 19 for a bad folder.
    """
    with as_our_errors():
        found = _foreseen(folder, here, offline=offline)
    document = _read_plan(folder)
    name = str(document.name)
    current = installed_document(name, here.settings)
    serves = current is not None and current.digest == document.digest and _is_up(name, here)
    return Preview(
        document=document,
        current_digest=current.digest if current else None,
        changes=_changes(name, folder, here.settings),
        # Deploy leaves alone what serves already, and looks at nothing else then.
        findings=() if serves else found,
    )


def _foreseen(folder: Path, here: Here, *, offline: bool) -> tuple[Finding, ...]:
    """What deploy would meet; what is only missing, it would bring first."""
    place = roots(here.settings)
    everything = transaction.preflight(folder, place, ports=here.ports)
    refused = transaction.early_refusals(folder, place, ports=here.ports, order=here.order)
    if offline:
        return tuple(as_finding(item) for item in (*everything, *refused))
    brought = (item for item in everything if item.code in ("image_missing", "weights_missing"))
    left = transaction.preflight_before_pull(folder, place, ports=here.ports)
    return (
        *(info("would_pull", item.message, hint="deploy brings it first") for item in brought),
        *(as_finding(item) for item in (*left, *refused)),
    )


def _is_up(name: str, here: Here) -> bool:
    """Whether the stack serves; a daemon that does not answer is among preflight's findings."""
    try:
        status = operate.status(name, roots(here.settings), ports=here.ports)
    except DeviceError:
        return False
    up = status.phase in SERVING and status.state == "running"
    return up and status.health in (None, "healthy")


def _read_plan(folder: Path) -> PlanDocument:
    file = folder / "plan.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=PlanDocument)
    except (OSError, msgspec.MsgspecError) as error:
        raise DataError(
            f"cannot read {file}",
            [str(error)],
            hint="render the stack again with this version of speccompose",
            code="bad_plan",
        ) from None


def committed_plan(request: StackRequest, here: Here) -> PlanDocument | None:
    """plan.json of the release that serves under the request's name, if there is one."""
    catalog = with_local_model(request, here.catalog, date.today())
    return installed_document(_name(request, catalog), here.settings)


def _name(request: StackRequest, catalog: Catalog) -> str:
    return stack_name(find_model(request, catalog).model, request)


def installed_document(name: str, settings: Settings) -> PlanDocument | None:
    """plan.json of an installed stack; None when absent or written by an unknown version."""
    try:
        return _read_plan(_current(name, settings))
    except DataError:
        return None


def _current(name: str, settings: Settings) -> Path:
    return Path(settings.state_root) / "stacks" / name / "current"


def _changes(name: str, folder: Path, settings: Settings) -> tuple[str, ...]:
    """What starts the stack (Compose file, or unit without a container) as a diff against the
    installed one."""
    starter = "compose.yaml" if (folder / "compose.yaml").is_file() else f"{name}.service"
    installed = _current(name, settings) / starter
    old = installed.read_text(encoding="utf-8") if installed.is_file() else ""
    new = (folder / starter).read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "installed", "planned", lineterm="", n=1
    )
    return tuple(lines)
