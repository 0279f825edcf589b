"""A full disk has a status, and a refusal stays itself."""

import errno

from speccompose.device.errors import DeviceError
from speccompose.device.file_faults import told, unwritable

FULL = OSError(errno.ENOSPC, "No space left on device")


def test_an_os_error_in_a_deploy_is_8():
    error = told(FULL)
    assert (error.status, error.code) == (8, "file_fault")
    assert "No space left" in error.details[0]


def test_a_refusal_is_told_as_it_is():
    refusal = DeviceError(9, "unhealthy")
    assert told(refusal) is refusal


def test_a_tree_that_cannot_be_written_is_15():
    error = unwritable("cannot write below /x", FULL)
    assert (error.status, error.code) == (15, "state_unwritable")
