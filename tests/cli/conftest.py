"""The command line for tests, with nothing of this user's own."""

import pytest

from tests.cli.harness import Terminal


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys, tmp_path_factory, request) -> Terminal:
    here = tmp_path / "here"
    here.mkdir()
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    monkeypatch.setenv("SPECCOMPOSE_CACHE", str(shared / "cli-cache"))
    monkeypatch.setenv("SPECCOMPOSE_STATE", str(here / "state"))
    monkeypatch.setenv("SPECCOMPOSE_SECRETS", str(here / "secrets"))
    for name in ("DATA", "HUB", "HUB_TOKEN_FILE"):
        monkeypatch.delenv(f"SPECCOMPOSE_{name}", raising=False)
    return Terminal(here, monkeypatch, capsys)
