"""What was printed is read as Compose reads it, and compared with the plan."""

import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.errors import SpecComposeError
from speccompose.plan.render import render_stack
from speccompose.plan.reread import check_compose, read_service, undouble
from tests.plan.test_assemble import stack

replace = msgspec.structs.replace
MINIMAL = 'services:\n  server:\n    image: "i"\n    entrypoint: ["e"]\n    command: ["a$$b"]\n'


@pytest.fixture(scope="module")
def printed(catalog) -> str:
    return render_stack(stack(catalog), catalog, b"").file("compose.yaml").content.decode()


def test_the_printed_file_agrees(catalog, printed):
    check_compose(printed, stack(catalog))


@pytest.mark.parametrize(
    "changes",
    [
        {"image_reference": "other"},
        {"entrypoint": ("sh",)},
        {"command": ("a",)},
        {"environment": {}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_each_difference_is_found(catalog, printed, changes):
    with pytest.raises(SpecComposeError) as caught:
        check_compose(printed, replace(stack(catalog), **changes))
    assert caught.value.status == 1
    assert caught.value.details[0].startswith("planned: ")
    assert caught.value.hint


def test_dollars_are_read_as_compose_does():
    service = read_service(MINIMAL)
    assert service.command == ("a$b",)
    assert service.environment == {}


@pytest.mark.parametrize(
    "text",
    [
        "services: {}\n",
        "services:\n  other: {image: i}\n",
        'services:\n  server:\n    image: "i"\n    entrypoint: ["e"]\n    command: "a b"\n',
        'services:\n  server:\n    image: 1\n    entrypoint: ["e"]\n    command: ["a"]\n',
    ],
)
def test_what_is_no_stack_is_malformed(text):
    with pytest.raises(SpecComposeError, match="malformed"):
        read_service(text)


@given(st.text())
def test_doubling_and_undoubling_cancel(text):
    assert undouble(text.replace("$", "$$")) == text


def test_planning_does_not_wait_for_the_yaml_parser():
    """Its import takes longer than a whole plan; only a printed file is read with it."""
    code = "import sys, speccompose.pipeline; print([m for m in sys.modules if 'ruamel' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
