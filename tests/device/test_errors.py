"""The board's statuses are the contract's, one for one."""

from speccompose.device import errors
from speccompose.device.errors import DeviceError
from speccompose.errors import ERROR_BY_STATUS, ExitStatus


def test_every_status_is_the_contract_s():
    ours = {name: value for name, value in vars(errors).items() if isinstance(value, int)}
    assert ours == {name: int(ExitStatus[name]) for name in ours}
    assert len(ours) == 12


def test_every_status_but_an_interruption_has_its_error_class():
    ours = {value for value in vars(errors).values() if isinstance(value, int)}
    # Drift is what a report says, and no error.
    assert ours - {errors.INTERRUPTED, errors.DRIFT} <= set(ERROR_BY_STATUS)


def test_an_error_reads_as_the_architecture_says():
    error = DeviceError(15, "two things", ["first fact", "second\nfact"], hint="do this")
    assert error.as_text() == ("error: two things\n  first fact\n  second\n  fact\n  hint: do this")
    assert error.code == "preflight"
    assert error.as_dict()["details"] == ["first fact", "second\nfact"]
