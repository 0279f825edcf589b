"""acceptance.json: what the plan writes is what the board reads."""

import json

import msgspec
import pytest

from speccompose.device.acceptance_file import parse_acceptance
from speccompose.device.errors import DATA, DeviceError
from speccompose.vocab.plan import Acceptance

SHIPPED = json.loads(
    msgspec.json.encode(
        Acceptance(
            baseline_command=("--model", "/models/target"),
            speculation_expected=True,
            counters="vllm:",
            version_path="/version",
        )
    )
)


def test_what_the_plan_writes_is_read():
    found = parse_acceptance(json.dumps(SHIPPED), "acceptance.json")
    assert found.baseline_command == ("--model", "/models/target")
    assert found.speculation_expected
    assert not found.synthetic
    for name, value in found.rules._asdict().items():
        assert value == (tuple(SHIPPED[name]) if isinstance(value, tuple) else SHIPPED[name])
    assert (found.rules.alone, found.rules.loaded) == (1, 8)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"min_repeats": "3"}, "min_repeats"),
        ({"min_repeats": 1}, "min_repeats"),
        ({"min_repeats": 13}, "min_repeats"),
        ({"concurrency": []}, "concurrency"),
        ({"concurrency": [1, 0]}, "concurrency"),
        ({"gain_accept_pct": None}, "gain_accept_pct"),
        ({"gain_accept_pct": True}, "gain_accept_pct"),
        ({"tpot_accept_pct": 20.0}, "tpot_accept_pct"),
        ({"baseline_command": "serve"}, "baseline_command"),
        ({"baseline_command": [1]}, "baseline_command"),
    ],
)
def test_what_is_wrong_is_named(changes, wanted):
    with pytest.raises(DeviceError) as caught:
        parse_acceptance(json.dumps({**SHIPPED, **changes}), "here/acceptance.json")
    assert caught.value.status == DATA
    assert "here/acceptance.json" in caught.value.brief
    assert wanted in caught.value.details[0]


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_no_document(text):
    with pytest.raises(DeviceError):
        parse_acceptance(text, "acceptance.json")
