"""What every verb starts with: settings from the environment, catalog, facts."""

import os
from pathlib import Path

import pytest

from speccompose.cli import session
from speccompose.errors import DataError
from tests.cli.harness import FACTS


def test_settings_come_from_this_process(cli):
    assert session.settings().state_root == str(cli.here / "state")


def test_catalog_with_the_users_own_files(cli, data_root):
    folder = cli.here / "profiles" / "models"
    folder.mkdir(parents=True)
    source = data_root / "profiles" / "models" / "qwen3-8b.yaml"
    (folder / "qwen3-8b.yaml").write_text(source.read_text())
    assert session.catalog(session.settings()).overlays


def test_facts_from_a_file_a_folder_or_this_machine(cli):
    file = str(FACTS / "d-01.yaml")
    assert session.facts(None, file).origin == file
    root = cli.here / "root"
    root.mkdir()
    assert session.facts(str(root), None).files == {}
    assert session.facts(None, None).origin == "this machine"


def test_unreadable_files(cli):
    os.mkfifo("pipe")
    for name in ("absent", str(cli.here), "pipe", "/dev/zero"):
        with pytest.raises(DataError) as caught:
            session.read_text(name)
        assert caught.value.code == "facts_unreadable"
        assert caught.value.hint
    Path("latin").write_bytes(b"\xe4")
    with pytest.raises(DataError, match="not UTF-8"):
        session.read_text("latin")
