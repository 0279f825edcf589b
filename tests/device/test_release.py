"""What is installed under a digest, and what is wrong with it."""

import pytest

from speccompose.device.release import claimed_plan, release_fault, release_plan
from speccompose.device.transaction import deploy

NONE_SUCH = "sha256:" + "0" * 64


@pytest.fixture
def digest(board) -> str:
    return deploy(board.write(), board.roots, ports=board.ports).digest


def test_an_undamaged_release(board, digest):
    assert release_fault(board.paths, digest) is None
    assert release_plan(board.paths, digest) == claimed_plan(board.paths, digest)
    assert release_plan(board.paths, digest).name == "tiny"


def test_no_release(board, digest):
    assert (release_fault(board.paths, None), release_plan(board.paths, None)) == (None, None)
    assert claimed_plan(board.paths, None) is None
    assert release_fault(board.paths, NONE_SUCH).status == 19
    assert claimed_plan(board.paths, NONE_SUCH) is None


def test_a_damaged_release_has_no_plan_but_claims_one(board, digest):
    with (board.paths.release(digest) / "plan.json").open("a") as file:
        file.write("\n")
    fault = release_fault(board.paths, digest)
    assert (fault.status, fault.code) == (19, "release_damaged")
    assert "differs from SHA256SUMS: plan.json" in fault.details
    assert release_plan(board.paths, digest) is None
    assert claimed_plan(board.paths, digest).name == "tiny"


def test_a_whole_release_of_another_digest_is_damaged(board, digest):
    board.paths.release(digest).rename(board.paths.release(NONE_SUCH))
    assert digest in release_fault(board.paths, NONE_SUCH).details[0]
    assert release_plan(board.paths, NONE_SUCH) is None
