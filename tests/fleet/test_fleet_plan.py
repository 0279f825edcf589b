"""S1, S18 and the plan of a whole fleet: no board is asked, equal inputs are planned once."""

import re

import pytest
from msgspec.structs import replace

from speccompose.errors import DataError, ExitStatus, MismatchError, SpecComposeError
from speccompose.fleet.fleet_plan import Selection, differences, plan_fleet, plan_status
from speccompose.fleet.known import KnownBoard, KnownFleet
from speccompose.fleet.plan_file import (
    BUNDLES,
    PLAN,
    check_inventory,
    inventory_hash,
    load_plan,
    rollout_id,
    write_plan,
)
from speccompose.fleet.stack_for import way_to
from tests.fleet.fleets import MIXED, ROOT, Pipeline, read
from tests.fleet.made import plan


@pytest.fixture
def fleet(tmp_path, catalog):
    return read(tmp_path, MIXED, catalog.devices)


def planned(fleet, catalog, known=KnownFleet(), **options):  # noqa: B008
    return plan_fleet(fleet, catalog, known, Pipeline(catalog), **options)


def test_a_mixed_fleet_from_nano_to_thor_to_spark_is_planned(fleet, catalog):
    plan = planned(fleet, catalog).plan
    classes = {board.id: board.board_class for board in plan.boards}
    assert classes == {
        "thor-1": "tegra264-128g-r39",
        "spark-1": "gb10-128g",
        "orin-1": "tegra234-64g-r36",
        "orin-2": "tegra234-64g-r39",
        "nano-1": "tegra234-8g-r36",
    }
    assert plan_status(plan) == ExitStatus.DONE
    names = {board.id: plan.stacks[board.stack].entry for board in plan.boards if board.stack}
    assert names == {**dict.fromkeys(classes, "chat"), "nano-1": "small"}
    assert set(plan.waves[0].boards) == set(classes)


def test_what_speculates_has_a_fallback_that_does_not(fleet, catalog):
    draft = planned(fleet, catalog)
    thor = draft.plan.stacks[next(b.stack for b in draft.plan.boards if b.id == "thor-1")]
    assert thor.method == "mtp"
    assert thor.accept
    assert draft.plan.stacks[thor.fallback].method == "none"
    assert set(draft.rendered) == set(draft.plan.stacks)


def test_canaries_measure_only_what_the_store_lacks(fleet, catalog):
    measured = plan_fleet(fleet, catalog, KnownFleet(), Pipeline(catalog, "accepted")).plan
    assert not any(stack.accept for stack in measured.stacks.values())


def test_a_refusal_is_the_boards_own_and_the_others_are_planned(tmp_path, catalog):
    text = MIXED.replace("families: [orin-nano]", "families: [orin-nx]")
    plan = planned(read(tmp_path, text, catalog.devices), catalog).plan
    refused = {board.id: board.refusal for board in plan.boards if board.refusal}
    assert set(refused) == {"nano-1"}
    assert refused["nano-1"].status == ExitStatus.MEMORY
    assert plan_status(plan) == ExitStatus.MEMORY
    allowed = text.replace("allow_floating: true", "allow_floating: true, allow_refused: true")
    plan = planned(read(tmp_path, allowed, catalog.devices), catalog).plan
    assert plan_status(plan) == ExitStatus.DONE
    assert "nano-1" not in [name for wave in plan.waves for name in wave.boards]


def test_a_board_without_an_assignment_is_told(tmp_path, catalog):
    text = MIXED.replace("  - stack: chat\n", "  - stack: chat\n    tags: [press]\n")
    plan = planned(read(tmp_path, text, catalog.devices), catalog).plan
    codes = {board.id: board.refusal.code for board in plan.boards if board.refusal}
    assert codes == {"spark-1": "no_assignment", "orin-2": "no_assignment"}


def test_only_locked_stacks_run_in_a_fleet(tmp_path, catalog):
    text = MIXED.replace("changes: {allow_floating: true}\n", "")
    with pytest.raises(SpecComposeError) as caught:
        planned(read(tmp_path, text, catalog.devices), catalog)
    assert caught.value.status == ExitStatus.PREFLIGHT
    assert any("locked stacks only" in line for line in caught.value.details)


def test_a_model_whose_memory_is_only_an_upper_bound_is_refused(tmp_path, catalog):
    text = MIXED.replace("qwen3.5-9b", "llama-3.1-8b")
    plan = planned(read(tmp_path, text, catalog.devices), catalog).plan
    codes = {board.refusal.code for board in plan.boards if board.refusal}
    assert "fleet_model_facts" in codes


def facts_fleet(folder, catalog, count, *, seed=0, entry="chat: {model: qwen3.5-9b}"):
    (folder / "facts").mkdir(exist_ok=True)
    base = (ROOT / "tests/facts/agx-orin-64-r36.4.3.yaml").read_text()
    for number in range(count):
        free = 50_000_000 + 1_000_003 * (number + seed) % 9_000_000
        text = re.sub(r"MemAvailable: +\d+", f"MemAvailable: {free}", base)
        text = re.sub(r"MemFree: +\d+", f"MemFree: {free // 3}", text)
        (folder / "facts" / f"b{number}.yaml").write_text(text)
    rows = "".join(f"  - {{id: b{n}, address: 10.0.0.{n + 1}}}\n" for n in range(count))
    return read(
        folder,
        f"fleet: 1\nname: f\nstacks:\n  {entry}\ndeploy: [{{stack: chat}}]\n"
        f"changes: {{allow_floating: true}}\nboards:\n{rows}",
        catalog.devices,
    )


def test_equal_inputs_are_planned_once_whatever_memory_was_free(tmp_path, catalog):
    fleet = facts_fleet(tmp_path, catalog, 20)
    planner = Pipeline(catalog)
    plan = plan_fleet(fleet, catalog, KnownFleet(), planner).plan
    assert len({board.stack for board in plan.boards}) == 1
    assert planner.planned <= 2
    assert [len(wave.boards) for wave in plan.waves] == [1, 1, 5, 13]


def test_facts_read_anew_make_the_same_rollout(tmp_path, catalog):
    first = planned(facts_fleet(tmp_path, catalog, 3), catalog).plan
    again = planned(facts_fleet(tmp_path, catalog, 3, seed=5), catalog).plan
    assert again.rollout == first.rollout


def test_a_board_with_less_memory_than_its_class_says_so(tmp_path, catalog):
    plan = planned(facts_fleet(tmp_path, catalog, 1), catalog).plan
    assert "its class is planned with" in plan.boards[0].notes[0]


def test_s01_the_id_is_the_hash_of_who_gets_what_when(tmp_path, fleet, catalog):
    first = planned(fleet, catalog).plan
    assert planned(fleet, catalog).plan == first
    assert rollout_id(first) == first.rollout
    changes = [
        MIXED.replace("10.0.0.5", "10.0.0.6"),
        MIXED.replace("l4t: 36.4.7}", "l4t: 36.5.0}", 1),
        MIXED.replace("allow_floating: true", "allow_floating: true, max_parallel: 2"),
        MIXED.replace("{model: qwen3.5-9b}", "{model: qwen3.5-9b, context_tokens: 4096}"),
        MIXED.replace("site: south, device", "device"),
    ]
    ids = {planned(read(tmp_path, text, catalog.devices), catalog).plan.rollout for text in changes}
    assert len(ids) == len(changes)
    assert first.rollout not in ids


def test_s01_a_plan_is_read_back_and_one_changed_byte_is_refused(tmp_path, fleet, catalog):
    draft = planned(fleet, catalog)
    folder = write_plan(tmp_path / "rollouts", draft.plan, draft.rendered)
    assert load_plan(folder) == draft.plan
    assert write_plan(tmp_path / "rollouts", draft.plan, draft.rendered) == folder
    content = (folder / PLAN).read_bytes()
    for position in (5, len(content) // 2, len(content) - 3):
        changed = bytearray(content)
        changed[position] ^= 1
        (folder / PLAN).write_bytes(changed)
        with pytest.raises(MismatchError) as caught:
            load_plan(folder)
        assert caught.value.status == ExitStatus.MISMATCH
    (folder / PLAN).write_bytes(content)
    bundle = folder / BUNDLES / next(iter(draft.plan.stacks))
    compose = bundle / "compose.yaml"
    compose.write_bytes(compose.read_bytes() + b" ")
    with pytest.raises(MismatchError):
        load_plan(folder)


def test_s01_a_bundle_with_a_file_more_or_another_mode_is_another(tmp_path, fleet, catalog):
    draft = planned(fleet, catalog)
    folder = write_plan(tmp_path, draft.plan, draft.rendered)
    bundle = folder / BUNDLES / next(iter(draft.plan.stacks))
    (bundle / "extra").write_text("")
    with pytest.raises(MismatchError):
        load_plan(folder)
    (bundle / "extra").unlink()
    load_plan(folder)
    (bundle / "compose.yaml").chmod(0o777)
    with pytest.raises(MismatchError):
        load_plan(folder)


def test_s01_a_changed_inventory_is_refused_by_name(tmp_path, fleet, catalog):
    plan = planned(fleet, catalog).plan
    check_inventory(plan, plan.boards)
    moved = tuple(
        replace(board, address="10.9.9.9") if board.id == "thor-1" else board
        for board in plan.boards
        if board.id != "nano-1"
    )
    with pytest.raises(MismatchError) as caught:
        check_inventory(plan, moved)
    assert set(caught.value.details) == {"gone: nano-1", "changed: thor-1"}


@pytest.mark.parametrize("field", ["key", "jump"])
def test_s01_another_way_to_a_board_is_another_fleet(fleet, catalog, field):
    plan = planned(fleet, catalog).plan
    first, *rest = plan.boards
    moved = (replace(first, **{field: "gate"}), *rest)
    with pytest.raises(MismatchError) as caught:
        check_inventory(plan, moved)
    assert caught.value.details == (f"changed: {first.id}",)


def test_s01_a_key_is_no_jump(fleet, catalog):
    board = planned(fleet, catalog).plan.boards[0]
    ways = [replace(board, key="gate"), replace(board, jump="gate"), board]
    assert len({inventory_hash([way]) for way in ways}) == 3


def test_s01_no_plan_is_told(tmp_path):
    with pytest.raises(DataError):
        load_plan(tmp_path)


def test_s18_a_stack_that_requires_another_is_refused_until_it_was_there(tmp_path, catalog):
    text = MIXED.replace(
        "  small:", "  next: {model: qwen3.5-9b, port: 9000, requires: [chat]}\n  small:"
    )
    text = text.replace("  - stack: chat\n", "  - stack: next\n")
    fleet = read(tmp_path, text, catalog.devices)
    plan = planned(fleet, catalog).plan
    codes = {board.id: board.refusal.code for board in plan.boards if board.refusal}
    assert set(codes.values()) == {"requires_missing"}
    had = KnownFleet(boards={"thor-1": KnownBoard(had=("chat",))})
    plan = planned(fleet, catalog, had).plan
    assert [board.id for board in plan.boards if board.stack] == ["thor-1", "nano-1"]
    way = way_to(fleet.file, "next", ())
    assert way == ("chat", "next")
    first = planned(
        fleet,
        catalog,
        selection=Selection(only=frozenset(("orin-2",)), entries={"orin-2": way[0]}),
    )
    assert {stack.entry for stack in first.plan.stacks.values()} == {"chat"}


def test_s18_a_board_that_skipped_releases_goes_straight(tmp_path, fleet):
    assert way_to(fleet.file, "chat", ("ancient",)) == ("chat",)


def test_s28_a_release_keeps_its_counter_and_a_new_one_gets_a_higher(fleet, tmp_path, catalog):
    first = planned(fleet, catalog).plan
    assert first.counter == 1
    known = KnownFleet(counter=1, release=first.rollout)
    assert planned(fleet, catalog, known).plan == first
    text = MIXED.replace("{model: qwen3.5-9b}", "{model: qwen3.5-9b, context_tokens: 4096}")
    other = planned(read(tmp_path, text, catalog.devices), catalog, known).plan
    assert other.counter == 2


def test_the_diff_says_what_changes_on_each_board(fleet, catalog):
    first = planned(fleet, catalog).plan
    assert set(differences(first)) == {board.id for board in first.boards}
    known = KnownFleet(
        boards={
            b.id: KnownBoard(digest=first.stacks[b.stack].digest)
            for b in first.boards
            if b.stack and b.id != "thor-1"
        }
    )
    again = planned(fleet, catalog, known).plan
    assert set(differences(again)) == {"thor-1"}


def test_s01_the_id_of_a_rollout_outlives_versions_that_add_fields():
    """A rollout that is under way must not become another one by an update of this program."""
    assert rollout_id(plan("a1 b1", "a2")) == "r-b748327d219879b3"
