"""Errors, findings, folders and sources between the control side and the on-board layer."""

import os
from pathlib import Path

import msgspec
import pytest

from speccompose.device.errors import DeviceError
from speccompose.device.plan_file import Download
from speccompose.device.preflight import HostFinding
from speccompose.errors import (
    ERROR_BY_STATUS,
    SourceUnreachableError,
    SpecComposeError,
    UsageError,
)
from speccompose.settings import Settings
from speccompose.world.onboard import as_finding, as_our_errors, build_image, roots, sources

OURS = "speccompose/llamacpp-cpu:0.7.0-b11669"


def settings(tmp_path, **changes: object) -> Settings:
    values = {
        "data_root": str(tmp_path),
        "overlays": (),
        "cache_dir": None,
        "state_root": str(tmp_path / "state"),
        "secrets_root": str(tmp_path / "secrets"),
    }
    return Settings(**{**values, **changes})


@pytest.mark.parametrize("status", sorted(ERROR_BY_STATUS))
def test_an_error_keeps_status_and_every_line(status):
    with pytest.raises(SpecComposeError) as caught, as_our_errors():
        raise DeviceError(status, "brief", ["one", "two"], hint="do", code="x")
    error = caught.value
    assert type(error) is ERROR_BY_STATUS[status]
    assert (int(error.status), error.brief, error.details) == (status, "brief", ("one", "two"))
    assert (error.hint, error.code) == ("do", "x")


def test_other_errors_pass():
    with pytest.raises(ValueError, match="ours"), as_our_errors():
        raise ValueError("ours")


@pytest.mark.parametrize("severity", ["info", "warning", "error"])
def test_a_finding_is_the_same(severity):
    found = as_finding(HostFinding(severity, "code", "message", "hint"))
    assert (found.severity, found.code, found.message, found.hint) == (
        severity,
        "code",
        "message",
        "hint",
    )


def test_folders(tmp_path):
    found = roots(settings(tmp_path))
    assert (found.state, found.secrets) == (tmp_path / "state", tmp_path / "secrets")
    assert found.models == tmp_path / "state" / "models"


def test_the_hub_and_its_token(tmp_path, catalog):
    token = tmp_path / "token"
    token.write_text("hf_secret\n")
    here = settings(tmp_path, hub="https://mirror.example/", hub_token_file=str(token))
    hub = sources(here, catalog).hub
    assert hub.base == "https://mirror.example"
    assert "hf_secret" not in repr(here)


def test_an_unreadable_token_is_refused(tmp_path, catalog):
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "absent", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError) as caught:
            sources(settings(tmp_path, hub_token_file=str(file)), catalog)
        assert caught.value.code == "token_unreadable"


def recipe(tmp_path, script: str) -> None:
    folder = tmp_path / "images" / "llamacpp-cpu"
    folder.mkdir(parents=True)
    (folder / "build").write_text(script)


def test_our_own_image_is_built(tmp_path, catalog):
    recipe(tmp_path, f"touch {tmp_path}/built\n")
    assert build_image(OURS, catalog, tmp_path)
    assert (tmp_path / "built").exists()


def test_an_image_of_others_is_not_ours_to_build(tmp_path, catalog):
    recipe(tmp_path, "exit 1\n")
    assert not build_image("vllm/vllm-openai:v0.27.1", catalog, tmp_path)
    assert not build_image("speccompose/llamacpp-cpu:other", catalog, tmp_path)


def test_without_a_recipe_there_is_nothing_to_build(tmp_path, catalog):
    assert not build_image(OURS, catalog, tmp_path)


def test_a_failed_build_tells_its_last_lines(tmp_path, catalog):
    recipe(tmp_path, "for n in 1 2 3 4 5 6 7; do echo line$n >&2; done; exit 3\n")
    with pytest.raises(SourceUnreachableError) as caught:
        build_image(OURS, catalog, tmp_path)
    assert caught.value.details == ("line3", "line4", "line5", "line6", "line7")
    assert caught.value.status == 18


def test_bundled_weights_go_where_the_plan_says(tmp_path, catalog):
    """A truncated draft is made from the target's file, wherever the state tree lies."""
    here = settings(tmp_path)
    model = catalog.models["smollm2-135m"]
    pairing = model.pairings[0]
    provide = sources(here, catalog).provide_bundled
    fields = dict.fromkeys(Download._fields)
    wanted = Download(
        **{
            **fields,
            "repo": pairing.draft,
            "file": "draft.gguf",
            "bundled": pairing.draft_bundled,
        }
    )
    with pytest.raises(SpecComposeError) as caught:
        provide(wanted, tmp_path / "draft")
    text = " ".join((caught.value.brief, *caught.value.details))
    assert model.checkpoints[0].repo.replace("/", "--") in text


def test_settings_are_frozen(tmp_path):
    with pytest.raises(AttributeError):
        settings(tmp_path).hub = "x"
    assert msgspec.structs.asdict(settings(tmp_path))["hub"] == "https://huggingface.co"
