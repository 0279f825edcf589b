"""What state.json says: how a stack stands, and how the transaction on it does.

Layer: device (standard library, Python 3.8). Pure. The phases are those of a transaction:

    idle -> staged -> switching -> checking -> unconfirmed -> committed
                          any of these -> rolling_back -> rolled_back, or stuck

and ``stopped`` (by an operator), ``failed`` (the installed release does not start any more) and
``degraded`` (it was given up after its restarts). While a transaction is open (``OPEN``),
``before`` says what to go back to and ``owner`` whose it is. Files of version 1 are read as well.
"""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

from speccompose.device.deadline import Deadline
from speccompose.device.paths import digest_hex

IDLE = "idle"
STAGED = "staged"
SWITCHING = "switching"
CHECKING = "checking"
UNCONFIRMED = "unconfirmed"
COMMITTED = "committed"
ROLLING_BACK = "rolling_back"
ROLLED_BACK = "rolled_back"
STUCK = "stuck"
STOPPED = "stopped"
FAILED = "failed"
DEGRADED = "degraded"
PHASES = (
    *(IDLE, STAGED, SWITCHING, CHECKING, UNCONFIRMED, COMMITTED, ROLLING_BACK, ROLLED_BACK),
    *(STUCK, STOPPED, FAILED, DEGRADED),
)
OPEN = (STAGED, SWITCHING, CHECKING, UNCONFIRMED, ROLLING_BACK)
"""A transaction has begun and has not ended."""
SERVING = (COMMITTED, ROLLED_BACK)
"""What is current proved itself and is meant to run."""
VERSION = 2
_VERSION_1 = (IDLE, SWITCHING, COMMITTED, STOPPED, FAILED, STUCK)
_KEPT_IMAGES = 32

JsonValue = Union[None, bool, int, float, str, List["JsonValue"], Dict[str, "JsonValue"]]
Body = Dict[str, JsonValue]


class Before(NamedTuple):
    """What stood before a switch: the digests linked, whether the current one was running, and
    the phase then."""

    current: Optional[str]
    previous: Optional[str]
    running: bool
    phase: str = COMMITTED


class Owner(NamedTuple):
    """Who changes a stack. ``boot`` tells whether ``pid`` can still be a process at all."""

    verb: str
    rollout: Optional[str]
    user: str
    host: str
    pid: int
    boot: str
    since: str

    @property
    def who(self) -> str:
        """One line for people."""
        rollout = f" for rollout {self.rollout}" if self.rollout else ""
        return (
            f"{self.verb}{rollout} by {self.user} on {self.host}, process {self.pid}, "
            f"since {self.since}"
        )


class KnownImage(NamedTuple):
    """The image that a release of this board ran with, by its id."""

    release: str
    reference: str
    image_id: str


class Last(NamedTuple):
    """How the last transaction ended: ``result`` is committed, rolled_back, stuck or expired."""

    result: str
    digest: Optional[str]
    rollout: Optional[str] = None
    code: Optional[str] = None
    reason: Optional[str] = None


class Record(NamedTuple):
    """state.json.

    ``digest`` is the release that a transaction tries, else the current one. ``counter`` is the
    highest release counter that was committed. ``accepted_length`` is the mean accepted length of
    the last proof; ``downgrade`` that an older release was allowed. ``notice`` says what a rebuild
    found; it is not written.
    """

    phase: str
    digest: Optional[str] = None
    before: Optional[Before] = None
    container: Optional[str] = None
    since: str = ""
    notice: Optional[str] = None
    owner: Optional[Owner] = None
    confirm_by: Optional[Deadline] = None
    counter: int = 0
    images: Tuple[KnownImage, ...] = ()
    last: Optional[Last] = None
    accepted_length: Optional[float] = None
    downgrade: bool = False

    def settled(self, phase: str, digest: Optional[str], container: Optional[str] = None) -> Record:
        """No transaction is open any more; what the stack is known by stays."""
        return self._replace(
            phase=phase,
            digest=digest,
            container=container,
            before=None,
            owner=None,
            confirm_by=None,
            notice=None,
            downgrade=False,
        )

    def opened(self, phase: str, digest: str, before: Before, owner: Optional[Owner]) -> Record:
        """A transaction towards ``digest`` stands at ``phase``."""
        return self._replace(
            phase=phase, digest=digest, before=before, owner=owner, confirm_by=None, notice=None
        )

    def knows(self, image: KnownImage) -> Record:
        """The same, with the image that a release ran with; the oldest are forgotten."""
        others = tuple(item for item in self.images if item.release != image.release)
        return self._replace(images=(*others, image)[-_KEPT_IMAGES:])

    def image_of(self, digest: Optional[str]) -> Optional[KnownImage]:
        """The image that a release ran with here, if it did."""
        return next((item for item in self.images if item.release == digest), None)

    @property
    def phase_of_current(self) -> str:
        """How what serves stands: a release that is only staged changes nothing of it."""
        if self.phase == STAGED and self.before is not None:
            return self.before.phase
        return self.phase

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun and has not ended."""
        return self.phase in OPEN


def as_body(record: Record, stack: str) -> Body:
    """The record as JSON carries it."""
    body: Body = {"version": VERSION, "stack": stack}
    for key, value in record._asdict().items():
        if key == "images":
            body[key] = [dict(item._asdict()) for item in record.images]
        elif key != "notice":
            body[key] = dict(value._asdict()) if hasattr(value, "_asdict") else value
    return body


def parse_record(text: str) -> Record:
    """Read a state.json.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: it is none.
    """
    body = json.loads(text)
    version, phase = body["version"], body["phase"]
    if version not in (1, VERSION) or phase not in (_VERSION_1 if version == 1 else PHASES):
        raise ValueError(f"version {version}, phase {phase}")
    container = body["container"]
    record = Record(
        phase=phase,
        digest=_digest(body["digest"]),
        before=_before(body["before"]),
        container=None if container is None else str(container),
        since=str(body["since"]),
    )
    if phase in OPEN and record.before is None:
        raise ValueError(f"phase {phase} without what stood before")
    if version == 1:
        return record
    return record._replace(
        owner=_owner(body["owner"]),
        confirm_by=_deadline(body["confirm_by"]),
        counter=_whole(body["counter"]),
        images=tuple(_image(item) for item in body["images"]),
        last=_last(body["last"]),
        accepted_length=_real(body["accepted_length"]),
        downgrade=bool(body["downgrade"]),
    )


def _before(body: Optional[Body]) -> Optional[Before]:
    if body is None:
        return None
    current = _digest(body["current"])
    phase = str(body.get("phase", IDLE if current is None else COMMITTED))
    if phase not in PHASES:
        raise ValueError(f"no phase: {phase!r}")
    return Before(current, _digest(body["previous"]), bool(body["running"]), phase)


def _owner(body: Optional[Body]) -> Optional[Owner]:
    if body is None:
        return None
    words = {key: str(body[key]) for key in ("verb", "user", "host", "boot", "since")}
    rollout = body["rollout"]
    return Owner(pid=_whole(body["pid"]), rollout=_text(rollout), **words)


def _deadline(body: Optional[Body]) -> Optional[Deadline]:
    if body is None:
        return None
    return Deadline(str(body["boot"]), float(str(body["boot_s"])), str(body["about"]))


def _image(body: Body) -> KnownImage:
    release = _digest(body["release"])
    return KnownImage(str(release), str(body["reference"]), str(body["image_id"]))


def _last(body: Optional[Body]) -> Optional[Last]:
    if body is None:
        return None
    rest = {key: _text(body[key]) for key in ("rollout", "code", "reason")}
    return Last(str(body["result"]), _digest(body["digest"]), **rest)


def _text(value: JsonValue) -> Optional[str]:
    return None if value is None else str(value)


def _real(value: JsonValue) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) else None


def _whole(value: JsonValue) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"no whole number: {value!r}")
    return value


def _digest(value: JsonValue) -> Optional[str]:
    """A digest becomes a folder's name, so it is one or the file is damaged."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError(f"no digest: {value!r}")
    digest_hex(value)
    return value
