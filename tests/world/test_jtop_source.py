import importlib.util
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from speccompose.world.jtop_source import power_and_clocks

MAXN = SimpleNamespace(name="MAXN", id=0)


def client(nvpmodel=MAXN, clocks=True):
    @contextmanager
    def connect():
        yield SimpleNamespace(nvpmodel=nvpmodel, jetson_clocks=clocks)

    return connect


def failing(error):
    @contextmanager
    def connect():
        raise error
        yield

    return connect


def test_power_mode_and_clocks():
    answer = {"power_mode": "MAXN", "power_mode_id": "0", "jetson_clocks": "on"}
    assert power_and_clocks(client()) == answer
    assert power_and_clocks(client(clocks=False)) == answer | {"jetson_clocks": "off"}


def test_what_the_board_has_not_is_left_out():
    assert power_and_clocks(client(nvpmodel=None)) == {"jetson_clocks": "on"}
    assert power_and_clocks(client(nvpmodel=None, clocks=None)) is None


@pytest.mark.parametrize(
    "error",
    [ConnectionRefusedError(), FileNotFoundError(), EOFError(), RuntimeError(), ValueError()],
)
def test_a_service_that_is_not_there_fails_nothing(error):
    assert power_and_clocks(failing(error)) is None


def test_a_client_of_another_version_fails_nothing():
    @contextmanager
    def connect():
        yield SimpleNamespace()

    assert power_and_clocks(connect) is None


def test_a_service_that_hangs_is_not_waited_for():
    @contextmanager
    def connect():
        time.sleep(5)
        yield SimpleNamespace(nvpmodel=None, jetson_clocks=True)

    begin = time.monotonic()
    assert power_and_clocks(connect, timeout_s=0.05) is None
    assert time.monotonic() - begin < 2


def test_without_the_package_there_is_no_answer():
    if importlib.util.find_spec("jtop") is not None:
        pytest.skip("jetson-stats is installed here")
    assert power_and_clocks() is None
