"""A manifest's text: what is read, and that any key of another kind is refused by name."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from speccompose.device.bundle_manifest import parse_manifest
from speccompose.device.errors import DeviceError
from speccompose.world.bundle_file import manifest_text
from tests.device.bundles import COMMIT, DIRECTORY, IMAGE_ID, Bundle
from tests.docker.stacks import StackText, write_stack


@pytest.fixture(scope="module")
def body(tmp_path_factory) -> dict:
    text = StackText(name="tiny", port=1, models=Path("/m"), secrets=Path("/s"), image=IMAGE_ID)
    stack = write_stack(tmp_path_factory.mktemp("manifest") / "stack", text)
    return json.loads(manifest_text(Bundle(stack, None).manifest()))


def copied(body: dict) -> dict:
    return json.loads(json.dumps(body))


def parse(body: object):
    return parse_manifest(json.dumps(body).encode())


def test_what_is_written_is_read(body):
    found = parse(body)
    assert (found.counter, found.board.soc, found.stacks[0].name) == (3, "tegra234", "tiny")
    assert (found.weights[0].directory, found.weights[0].revision) == (DIRECTORY, COMMIT)
    assert set(found.sizes) == {blob["sha256"] for blob in body["blobs"]}


def leaves(value: object, path: tuple = ()) -> list[tuple]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items:
        found.append((*path, key))
        if isinstance(item, dict | list):
            found += leaves(item, (*path, key))
    return found


MAY_BE_NULL = {"soc", "l4t_major", "memory_mib"}
UNREAD = {"program"}


def test_no_key_may_be_of_another_kind_or_missing(body):
    for path in leaves(body):
        if path[-1] in UNREAD or (path[0] == "images" and path[-1] == "size"):
            continue
        for wrong in ({"x": 1}, [], "", -1, True, 1.5):
            changed = copied(body)
            place = changed
            for key in path[:-1]:
                place = place[key]
            if isinstance(place[path[-1]], list) and wrong == []:
                continue
            if path[-1] in ("whole",) and wrong is True:
                continue
            if path[0] == "weights" and path[-1] == "size":
                continue  # the list of content has the size
            place[path[-1]] = wrong
            with pytest.raises(DeviceError) as caught:
                parse(changed)
            assert caught.value.code == "bad_bundle", (path, wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b["blobs"].append(b["blobs"][0]),
        lambda b: b["blobs"].append({"sha256": "0" * 64, "size": 1}),
        lambda b: b["blobs"].pop(),
        lambda b: b.update(stacks=[]),
        lambda b: b["stacks"].append(b["stacks"][0]),
        lambda b: b.update(bundle=2),
        lambda b: b["weights"][0].update(directory="../x"),
        lambda b: b["weights"][0].update(directory=".hidden"),
        lambda b: b["weights"][0].update(directory="a/b"),
        lambda b: b["stacks"][0].update(name="../x"),
        lambda b: b["stacks"][0].update(digest="latest"),
        lambda b: (
            b["stacks"][0]["files"]["check"].update(mode=0o4755)
            if "check" in b["stacks"][0]["files"]
            else b["stacks"][0]["files"]["plan.json"].update(mode=0o4755)
        ),
        lambda b: b["images"][0].update(image_id="alpine:latest"),
        lambda b: b["images"][0].update(image_id="sha256:" + "0" * 64 + "\n"),
    ],
)
def test_what_would_lead_elsewhere_or_is_not_whole(body, change):
    changed = copied(body)
    change(changed)
    with pytest.raises(DeviceError) as caught:
        parse(changed)
    assert (caught.value.status, caught.value.code) == (3, "bad_bundle")


@given(some.binary(max_size=200))
def test_any_bytes_are_refused(data):
    with pytest.raises(DeviceError) as caught:
        parse_manifest(data)
    assert caught.value.status == 3


def test_one_that_is_too_deep():
    with pytest.raises(DeviceError):
        parse_manifest(b"[" * 100_000)
