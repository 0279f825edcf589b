"""`bundle` on the command line: what it wants, and what it says of what it made."""

from pathlib import Path

from speccompose.bundling import BundleOrder
from speccompose.cli.bundle import bundle_text
from tests.device.bundles import IMAGE_ID, Bundle
from tests.docker.stacks import StackText, write_stack

BOARD = ("--device", "agx-thor-t5000", "--l4t", "38.4.0")


def test_a_stack_or_folders_are_wanted(cli):
    done = cli("bundle", "-o", "x")
    assert done.status == 2
    assert "--model" in done.err
    assert cli("bundle", "-o", "x", "folder", "--model", "qwen3-8b").status == 2


def test_without_a_lock_it_says_how_to_get_one(cli):
    done = cli("bundle", "-o", "x.bundle", "--model", "qwen3-8b", *BOARD)
    assert done.status == 2
    assert "speccompose lock" in done.err
    assert not (cli.here / "x.bundle").exists()


def test_what_was_made_is_told(tmp_path):
    text = StackText(name="tiny", port=1, models=Path("/m"), secrets=Path("/s"), image=IMAGE_ID)
    manifest = Bundle(write_stack(tmp_path / "stack", text), None, counter=0).manifest()
    told = bundle_text(manifest, BundleOrder(output=tmp_path / "site.bundle"))
    assert "agx-orin-64gb" in told
    assert "no: boards that know who may sign refuse it" in told
    assert "check unbundle site.bundle" in told
