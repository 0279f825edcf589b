"""Every variable of the environment, and the default without it."""

import os
import re
from pathlib import Path

import pytest

from speccompose.errors import DataError, UsageError
from speccompose.settings import Settings, default_data_root, read_settings

ROOT = Path(__file__).resolve().parent.parent
SIMPLE = {
    "SPECCOMPOSE_STATE": ("state_root", "/var/lib/speccompose"),
    "SPECCOMPOSE_SECRETS": ("secrets_root", "/etc/speccompose/secrets"),
    "SPECCOMPOSE_HUB": ("hub", "https://huggingface.co"),
    "SPECCOMPOSE_HUB_TOKEN_FILE": ("hub_token_file", None),
}


@pytest.mark.parametrize("variable", SIMPLE)
def test_a_variable_and_its_default(tmp_path, variable):
    field, default = SIMPLE[variable]
    assert getattr(read_settings({}, tmp_path), field) == default
    assert getattr(read_settings({variable: ""}, tmp_path), field) == default
    assert getattr(read_settings({variable: "/else"}, tmp_path), field) == "/else"


@pytest.mark.parametrize("variable", ["STATE", "SECRETS", "CACHE", "HUB_TOKEN_FILE"])
def test_a_relative_path_is_made_absolute(tmp_path, variable):
    """Docker would take a relative mount for a volume, and systemd starts in another folder."""
    field = {"STATE": "state_root", "SECRETS": "secrets_root", "CACHE": "cache_dir"}
    read = read_settings({f"SPECCOMPOSE_{variable}": "a/b"}, tmp_path)
    assert getattr(read, field.get(variable, "hub_token_file")) == str(tmp_path / "a" / "b")


def test_cache(tmp_path):
    def cache(**environ: str) -> str | None:
        return read_settings(environ, tmp_path).cache_dir

    assert cache(HOME="/h") == "/h/.cache/speccompose"
    assert cache(HOME="/h", XDG_CACHE_HOME="/c") == "/c/speccompose"
    assert cache(HOME="/h", SPECCOMPOSE_CACHE="/x") == "/x"
    assert cache(HOME="/h", SPECCOMPOSE_CACHE="") is None


def test_data(tmp_path):
    assert read_settings({}, tmp_path).data_root == str(ROOT)
    moved = read_settings({"SPECCOMPOSE_DATA": str(tmp_path)}, Path("/"))
    assert moved.data_root == str(tmp_path.resolve())
    assert default_data_root() == ROOT


def test_a_relative_data_root_is_made_absolute(tmp_path):
    folder = os.path.relpath(tmp_path)
    moved = read_settings({"SPECCOMPOSE_DATA": folder}, Path("/"))
    assert moved.data_root == str(tmp_path.resolve())


def test_own_data_of_the_user_and_of_the_working_folder(tmp_path):
    home, here = tmp_path / "home", tmp_path / "here"
    own = home / ".config" / "speccompose" / "profiles"
    environ = {"HOME": str(home)}
    assert read_settings(environ, here).overlays == ()
    own.mkdir(parents=True)
    (here / "profiles").mkdir(parents=True)
    assert read_settings(environ, here).overlays == (str(own), str(here / "profiles"))


def test_what_lies_beside_a_fleet_file_goes_with_it(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        (place / "profiles").mkdir(parents=True)
        (place / "speccompose.lock").write_text("")
    read = read_settings({"HOME": "/nowhere"}, here, fleet_dir=there)
    assert read.overlays == (str(here / "profiles"), str(there / "profiles"))
    assert read.lock_file == str(there / "speccompose.lock")
    assert read_settings({"HOME": "/nowhere"}, here, fleet_dir=here).overlays == (
        str(here / "profiles"),
    )
    (there / "speccompose.lock").unlink()
    read = read_settings({"HOME": "/nowhere"}, here, fleet_dir=there)
    assert read.lock_file == str(here / "speccompose.lock")


def test_xdg_moves_the_users_own_data(tmp_path):
    own = tmp_path / "xdg" / "speccompose" / "profiles"
    own.mkdir(parents=True)
    assert read_settings({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, Path("/")).overlays == (
        str(own),
    )


def test_the_checkouts_own_profiles_are_no_overlay():
    assert read_settings({"HOME": "/nowhere"}, ROOT).overlays == ()


def test_every_setting_can_be_read():
    covered = {field for field, _ in SIMPLE.values()} | {"data_root", "overlays", "cache_dir"}
    covered |= {"registries", "lock_file"}  # tested below
    assert covered == set(Settings.__struct_fields__)


def test_every_setting_is_used():
    """A variable that nothing obeys is a promise that is not kept."""
    sources = [
        path.read_text()
        for path in (ROOT / "speccompose").rglob("*.py")
        if path.name != "settings.py"
    ]
    for field in Settings.__struct_fields__:
        used = re.compile(rf"(settings|current)\.{field}\b")
        assert any(used.search(text) for text in sources), field


@pytest.mark.parametrize("variable", ["SPECCOMPOSE_STATE", "SPECCOMPOSE_SECRETS"])
@pytest.mark.parametrize("odd", [" ", "'", '"', "\\", ";", ":", "$", "\n", "\udcff"])
def test_a_path_that_no_unit_can_carry_is_refused_by_name(tmp_path, variable, odd):
    with pytest.raises(UsageError, match=variable) as refused:
        read_settings({variable: f"/a{odd}b"}, tmp_path)
    assert refused.value.code == "bad_path"
    refused.value.brief.encode("utf-8")


def test_a_relative_path_counts_with_the_folder_it_starts_from(tmp_path):
    with pytest.raises(UsageError, match="SPECCOMPOSE_STATE"):
        read_settings({"SPECCOMPOSE_STATE": "state"}, tmp_path / "my stacks")
    assert read_settings({}, tmp_path / "my stacks").state_root == "/var/lib/speccompose"


def as_dangling(path):
    path.symlink_to("nowhere")


def as_loop(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, as_dangling, as_loop])
@pytest.mark.parametrize("place", ["here/profiles", "config/speccompose/profiles"])
def test_own_profiles_that_are_no_folder_are_told(tmp_path, make, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(DataError, match="profiles") as refused:
        read_settings({"XDG_CONFIG_HOME": str(tmp_path / "config")}, tmp_path / "here")
    assert (refused.value.status, refused.value.code) == (3, "profiles_unreadable")


def test_registry_mirrors_are_read(tmp_path):
    text = "nvcr.io=mirror.site:5000/nv, docker.io=mirror.site:5000"
    found = read_settings({"SPECCOMPOSE_REGISTRIES": text}, tmp_path).registries
    assert found == {"nvcr.io": "mirror.site:5000/nv", "docker.io": "mirror.site:5000"}
    assert read_settings({}, tmp_path).registries == {}


@pytest.mark.parametrize(
    "text", ["nvcr.io", "nvcr.io=https://m", "nvcr.io=user:secret@m", "a b=m", "=m", "nvcr.io="]
)
def test_what_is_no_mirror_or_carries_a_password_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        read_settings({"SPECCOMPOSE_REGISTRIES": text}, tmp_path)
    assert "secret" not in str(caught.value.details) + caught.value.brief


def test_the_lock_lies_in_the_working_folder_unless_it_is_named(tmp_path):
    assert read_settings({}, tmp_path).lock_file is None
    (tmp_path / "speccompose.lock").write_text("{}")
    assert read_settings({}, tmp_path).lock_file == str(tmp_path / "speccompose.lock")
    assert read_settings({"SPECCOMPOSE_LOCK": "x"}, tmp_path).lock_file == str(tmp_path / "x")
    assert read_settings({"SPECCOMPOSE_LOCK": ""}, tmp_path).lock_file is None
