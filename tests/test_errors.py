"""Exit statuses are the contract's, unique, and each error says what to do."""

from speccompose.errors import ERROR_BY_STATUS, ExitStatus, SpecComposeError

CONTRACT = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 130}


def test_statuses_are_the_contracts():
    assert {int(status) for status in ExitStatus} == CONTRACT


def test_each_error_class_has_a_status_of_its_own():
    classes = SpecComposeError.__subclasses__()
    assert len({cls.status for cls in classes}) == len(classes)
    assert all(ERROR_BY_STATUS[int(cls.status)] is cls for cls in classes)


def test_the_code_defaults_to_the_status_name():
    error = SpecComposeError("x")
    assert error.code == "bug"
    assert error.details == ()
