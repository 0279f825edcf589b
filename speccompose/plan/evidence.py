"""How far the proof goes that an image serves on a board.

Part of stage 3 of 7 (which image), after resolve, before speculate. Pure.
"""

from speccompose.plan.smoke_test import is_thin, smoke_test
from speccompose.vocab.facts import ResolvedDevice
from speccompose.vocab.finding import Finding, Severity
from speccompose.vocab.image import Build, ImageEntry, Placement


def thin_evidence(
    device: ResolvedDevice,
    image: ImageEntry,
    row: Placement,
    build: Build,
    *,
    build_told: bool = False,
) -> tuple[Finding, ...]:
    """Say so where nobody was seen serving this build on this family.

    A warning where it is inferred, or on Orin with L4T 39, where rules section 2 call the evidence
    for upstream vLLM thin; an info where it is known from second hand only.

    Args:
        device: the board.
        image: the image.
        row: the row of the image that admits the board.
        build: the build taken.
        build_told: another finding says already that the build is unproved here.
    """
    proved = build_told or device.family in build.evidence_on
    if row.evidence == "seen" and proved:
        return ()
    severity = Severity.INFO
    if row.evidence == "inferred" or not proved or is_thin(device, image):
        severity = Severity.WARNING
    how = "inferred" if row.evidence == "inferred" or not proved else "known from second hand"
    note = f"; {row.note}" if row.note else ""
    return (
        Finding(
            severity=severity,
            code="thin_evidence",
            message=f"{image.id} {build.version} on {device.family}: that it serves is {how}{note}",
            hint="the kernel smoke test runs before weights are loaded"
            if smoke_test(device, image) is not None
            else None,
            source=row.source,
        ),
    )
