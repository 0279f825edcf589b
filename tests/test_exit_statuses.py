"""Each exit status of the contract is reached by a test; the list is checked, not believed."""

import ast
import re
from pathlib import Path

import pytest

from speccompose.errors import ExitStatus
from tests.generated_docs import STATUS_TEXTS

ROOT = Path(__file__).resolve().parent.parent

TRANSACTION = "tests/device/test_transaction.py"
REACHED = {
    0: "tests/cli/test_edge.py::test_done",
    1: "tests/cli/test_edge.py::test_a_bug_is_status_1_with_a_trace",
    2: "tests/cli/test_plan.py::test_without_model_it_prints_what_fits",
    3: "tests/cli/test_plan.py::test_malformed_facts_name_the_line",
    4: "tests/cli/test_plan.py::test_without_model_on_an_unsupported_board",
    5: "tests/test_field_cases.py::test_i_01_no_upstream_tag_on_r36",
    6: "tests/cli/test_plan.py::test_suggest_names_plans_that_do_fit",
    7: "tests/cli/test_plan.py::test_too_deep_gives_the_valid_depths",
    8: f"{TRANSACTION}::test_a_failure_brings_the_old_release_back",
    9: "tests/device/test_operate.py::test_verify_is_9_with_what_is_wrong",
    11: "tests/test_acceptance.py::test_statuses_are_the_contracts",
    12: "tests/cli/test_serve.py::test_a_locked_stack_is_12",
    14: f"{TRANSACTION}::test_when_the_old_release_does_not_come_back_it_is_stuck",
    15: "tests/cli/test_serve.py::test_deploy_without_docker",
    18: "tests/cli/test_serve.py::test_a_hub_that_does_not_have_it_is_18",
    19: "tests/cli/test_serve.py::test_a_changed_folder_is_19",
    130: "tests/cli/test_edge.py::test_interrupted",
}
NOT_YET = {10, 13, 16, 17}
"""Of rollouts, drift and lint: what reaches them is not built yet."""


def test_every_status_is_accounted_for():
    assert set(REACHED) | NOT_YET == {int(status) for status in ExitStatus}
    assert not set(REACHED) & NOT_YET
    assert set(STATUS_TEXTS) == set(REACHED) | NOT_YET


@pytest.mark.parametrize("status", REACHED)
def test_the_test_is_there_and_asserts_the_status(status):
    file, _, name = REACHED[status].partition("::")
    text = (ROOT / file).read_text()
    function = next(
        (node for node in ast.parse(text).body if getattr(node, "name", None) == name), None
    )
    assert isinstance(function, ast.FunctionDef), f"{REACHED[status]} is gone"
    first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
    body = "\n".join(text.splitlines()[first - 1 : function.end_lineno])
    assert re.search(rf"\b{status}\b|ExitStatus\.{ExitStatus(status).name}\b", body)


def test_a_status_that_is_built_does_not_stay_in_the_list():
    """When the source raises one of NOT_YET, its test must be named above."""
    for status in NOT_YET:
        name = ExitStatus(status).name
        used = [
            path.name
            for path in (ROOT / "speccompose").rglob("*.py")
            if path.name != "errors.py" and f"ExitStatus.{name}" in path.read_text()
        ]
        assert used == [], f"{status} is reached by {used}: name its test"
