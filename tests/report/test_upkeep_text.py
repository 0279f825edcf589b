"""What people read after confirm, recover, drift and prune."""

from speccompose.device.confirm import Settled
from speccompose.device.drift import Drifted
from speccompose.device.errors import DeviceError
from speccompose.device.pruning import Pruned
from speccompose.device.recover import Recovered
from speccompose.report.upkeep_text import (
    drift_text,
    pruned_text,
    recovered_text,
    settled_text,
)


def test_a_confirmation():
    done = Settled("tiny", True, "committed", "sha256:1")
    assert settled_text(done).splitlines()[0] == "tiny is committed"
    again = settled_text(done._replace(changed=False, done="a note"))
    assert "already" in again
    assert "a note" in again


def test_recovered_stacks_are_a_line_each():
    found = [
        Recovered("a", None, "committed"),
        Recovered("b", "previous stack restored", "rolled_back"),
        Recovered("c", None, "stuck", DeviceError(14, "it did not come back", code="stuck")),
    ]
    lines = recovered_text(found).splitlines()
    assert "nothing to do" in lines[0]
    assert "previous stack restored" in lines[1]
    assert "it did not come back" in lines[2]
    assert "no stack" in recovered_text([])


def test_drift_shows_both_sides_and_the_way_back():
    text = drift_text([Drifted("tiny", "image_changed", "sha256:1", "sha256:2")])
    for part in ("tiny: image_changed", "sha256:1", "sha256:2", "speccompose deploy"):
        assert part in text
    assert drift_text([]) == "nothing has drifted"


def test_pruning_says_what_went_and_what_stayed():
    done = Pruned(False, ("tiny/0",), ("sha256:1",), ("a--b",), ("x: in use",))
    text = pruned_text(done)
    for part in ("gone", "tiny/0", "sha256:1", "a--b", "x: in use"):
        assert part in text
    assert pruned_text(done._replace(dry_run=True)).startswith("would go")
    assert pruned_text(Pruned(False, (), (), (), ())) == "nothing to prune"
