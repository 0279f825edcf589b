"""Signals: the three that end us all interrupt, and none cuts an undo short."""

import os
import signal
import threading

import pytest

from speccompose.device.interrupts import signals_interrupt, uninterrupted

THREE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", THREE)
def test_each_interrupts(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), signals_interrupt():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", THREE)
def test_none_reaches_an_undo(number):
    done = []
    with signals_interrupt():
        with uninterrupted():
            os.kill(os.getpid(), number)
            done.append("undone")
        assert done == ["undone"]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_in_a_thread_nothing_is_touched():
    seen = []

    def work() -> None:
        with signals_interrupt(), uninterrupted():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
