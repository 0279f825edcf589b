"""The class that a bundle is for."""

from pathlib import Path

import pytest

from speccompose.device.stack_folder import read_stack
from speccompose.errors import UsageError
from speccompose.world.bundle_board import bundled_board, one_class
from tests.docker.stacks import StackText, write_stack

IMAGE_ID = "sha256:" + "1" * 64


@pytest.fixture
def stack(tmp_path):
    def make(name: str, **device: object):
        known = {"id": "agx-orin-64gb", "family": "agx-orin", "soc": "tegra234", "l4t": "36.4.7"}
        changes = {"device": {**known, "memory_mib": 62841, **device}, "downloads": []}
        text = StackText(
            name=name,
            port=1,
            models=Path("/m"),
            secrets=Path("/s"),
            image=IMAGE_ID,
            changes=changes,
        )
        return read_stack(write_stack(tmp_path / name, text))

    return make


def test_two_boards_of_one_class_go_together(stack):
    stacks = [stack("a"), stack("b", id="agx-orin-industrial", l4t="36.5.0", memory_mib=62800)]
    board = bundled_board(one_class(stacks), stacks, "arm64")
    assert (board.soc, board.l4t_major, board.memory_mib) == ("tegra234", 36, 62841)
    assert board.devices == ("agx-orin-64gb", "agx-orin-industrial")


@pytest.mark.parametrize("other", [{"soc": "tegra264"}, {"l4t": "39.2.1"}, {"memory_mib": 30697}])
def test_two_classes_do_not(stack, other):
    with pytest.raises(UsageError) as caught:
        one_class([stack("a"), stack("b", **other)])
    assert caught.value.code == "mixed_classes"


def test_what_is_no_jetson_is_told_by_its_processor(stack):
    stacks = [stack("a", id="dgx-spark", soc="gb10", l4t=None, memory_mib=122000)]
    board = bundled_board(one_class(stacks), stacks, "arm64")
    assert (board.soc, board.l4t_major, board.memory_mib) == (None, None, None)
