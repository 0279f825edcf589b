"""Who puts the load on a server: our own client, or another program that measures.

Layer: device (standard library, Python 3.8). An acceptance asks a runner for one window after the
other and judges them; how a window came about is the runner's business. Another runner needs no
more than this one class: take an order, return what was seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, NamedTuple, Protocol

from speccompose.device.dataset import Dataset
from speccompose.device.load import run_load
from speccompose.device.window import Order, Pace, Play, Served, Window, measure

NATIVE = "native"


class Runner(Protocol):
    """Measures one run of a server that is ready."""

    @property
    def name(self) -> str:
        """How results name it."""

    def run(self, served: Served, order: Order) -> Window:
        """Do what is ordered. What goes wrong stands in the window's ``run.errors``.

        Raises:
            DeviceError: it cannot measure at all.
        """


class NativeRunner(NamedTuple):
    """Our own streaming client; ``play`` puts the measured part of its load on the server."""

    dataset: Dataset
    pace: Pace
    name: str = NATIVE
    play: Play = run_load

    def run(self, served: Served, order: Order) -> Window:
        """Warm up, then play the dataset's conversations."""
        return measure(served, self.pace, self.dataset, order, self.play)


class RunnerMaker(NamedTuple):
    """Another runner, to be made when it is known what is measured.

    ``make`` takes the dataset and the folder below which the runner may keep files of its own.
    """

    name: str
    make: Callable[[Dataset, Path], Runner]
