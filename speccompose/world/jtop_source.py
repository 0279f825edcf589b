"""jetson-stats' running service becomes power mode and clocks, or nothing.

Layer: world. The one importer of jtop, and only when asked: without the package, the service or
an answer in time the caller gets None and goes on. JetPack is never taken from here: jtop prints
'Jetpack missing!' for releases newer than its table (GH rbonghi/jetson_stats#677).
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

_TIMEOUT_S = 2.0


class PowerModel(Protocol):
    """nvpmodel as jtop shows it."""

    name: str
    id: int


class Stats(Protocol):
    """The part of a jtop client that is read here."""

    nvpmodel: PowerModel | None
    jetson_clocks: object


def power_and_clocks(
    connect: Callable[[], AbstractContextManager[Stats]] | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> Mapping[str, str] | None:
    """Ask the service: {'power_mode': 'MAXN', 'power_mode_id': '0', 'jetson_clocks': 'on'}.

    A key is absent where the board has no such thing. ``connect`` opens a client; tests give one.
    """
    opener = connect or _installed_jtop()
    if opener is None:
        return None
    answer: dict[str, str] = {}
    failures: tuple[type[Exception], ...] = (
        *(OSError, RuntimeError, ValueError, AttributeError, EOFError),
        *_jtop_errors(),
    )

    def ask() -> None:
        try:
            with opener() as stats:
                answer.update(_read(stats))
        except failures:
            answer.clear()

    # The client may block on a dead socket; a daemon thread cannot keep the program alive.
    thread = threading.Thread(target=ask, name="jtop", daemon=True)
    thread.start()
    thread.join(timeout_s)
    return dict(answer) if answer and not thread.is_alive() else None


def _read(stats: Stats) -> dict[str, str]:
    found = {}
    if stats.nvpmodel is not None:
        found = {"power_mode": str(stats.nvpmodel.name), "power_mode_id": str(stats.nvpmodel.id)}
    if stats.jetson_clocks is not None:
        found["jetson_clocks"] = "on" if stats.jetson_clocks else "off"
    return found


def _installed_jtop() -> Callable[[], AbstractContextManager[Stats]] | None:
    """The jtop client class, if jetson-stats is installed and loads."""
    try:
        from jtop import jtop
    except (ImportError, OSError):
        return None
    client: Callable[[], AbstractContextManager[Stats]] = jtop
    return client


def _jtop_errors() -> tuple[type[Exception], ...]:
    """jtop's own exception class, which derives from Exception alone."""
    try:
        from jtop import JtopException
    except (ImportError, OSError):
        return ()
    errors: tuple[type[Exception], ...] = (JtopException,)
    return errors
