"""Every recorded board of tests/facts/ gets what its first line expects.

A capture begins with `# expect: device=..., l4t=..., jetpack=..., findings=a+b` (findings that are
not named must not appear) or `# expect: exit 4, code=..., device=...`.
"""

from pathlib import Path

import pytest

from speccompose.catalog.facts_file import read_facts, write_facts
from speccompose.errors import BoardError
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device
from speccompose.vocab.facts import RawFacts, ResolvedDevice

FOLDER = Path(__file__).resolve().parent.parent / "facts"
CAPTURES = sorted(FOLDER.glob("*.yaml"))
PREFIX = "# expect: "


def expectation(path: Path) -> dict[str, str]:
    first = path.read_text().splitlines()[0]
    assert first.startswith(PREFIX), f"{path.name} says not what is expected of it"
    fields = first.removeprefix(PREFIX).replace("exit ", "exit=").split(", ")
    return dict(field.split("=", 1) for field in fields)


def facts_of(path: Path) -> RawFacts:
    return read_facts(path.read_text(), f"tests/facts/{path.name}")


def shown(value: str | int | None) -> str:
    return "null" if value is None else str(value)


def check_known(expected: dict[str, str], device: ResolvedDevice) -> None:
    actual = {
        "device": device.id,
        "l4t": shown(device.l4t),
        "jetpack": shown(device.jetpack),
        "memory": shown(device.memory_mib),
        "available": shown(device.available_mib),
        "power": shown(device.power_mode),
    }
    asked = {name: value for name, value in expected.items() if name in actual}
    assert asked == {name: actual[name] for name in asked}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_capture_is_what_it_says(path, catalog):
    expected = expectation(path)
    detected = detect_device(facts_of(path))
    if "exit" in expected:
        with pytest.raises(BoardError) as refused:
            resolve_device(detected, catalog)
        error = refused.value
        assert (str(int(error.status)), error.code) == (expected["exit"], expected["code"])
        assert error.hint
        known = error.device if isinstance(error, RefusedBoardError) else None
        assert (known is not None) == ("device" in expected)
        if known is not None:
            check_known(expected, known)
        return
    device = resolve_device(detected, catalog)
    assert {"device", "l4t", "jetpack"} <= set(expected)
    check_known(expected, device)
    codes = sorted(finding.code for finding in device.findings)
    assert codes == sorted(filter(None, expected.get("findings", "").split("+")))
    assert device.memory_mib == device.available_mib + device.os_reserve_mib
    if not device.from_profile:
        assert device.available_mib % 256 == 0


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_saved_facts_say_the_same(path):
    facts = facts_of(path)
    saved = read_facts(write_facts(facts), facts.origin)
    assert detect_device(saved) == detect_device(facts)


def test_every_detection_case_has_its_capture():
    stems = [path.stem for path in CAPTURES]
    missing = [
        f"d-{n:02}" for n in range(1, 15) if not any(s.startswith(f"d-{n:02}") for s in stems)
    ]
    assert missing == []


def test_a_name_of_another_tool_does_not_matter(catalog):
    """jtop's 'Jetpack missing!' (case D-02) changes nothing."""
    facts = facts_of(FOLDER / "d-02.yaml")
    assert "Jetpack missing!" in facts.commands["jetson_release"]
    without = {name: text for name, text in facts.commands.items() if name != "jetson_release"}
    bare = RawFacts(origin=facts.origin, files=facts.files, commands=without)
    assert detect_device(bare) == detect_device(facts)
