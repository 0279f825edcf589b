"""Findings for people: worst first, evidence and fixes, 80 columns, commands whole."""

from speccompose.report.doctor_text import doctor_text
from speccompose.vocab.finding import Finding, HostNotice, Severity
from speccompose.world.onboard import as_finding
from tests.device.host_captures import NAMES, capture


def notice(severity: Severity, code: str, **more: object) -> HostNotice:
    return HostNotice(**{"severity": severity, "code": code, "message": f"about {code}", **more})


def test_nothing_found():
    assert doctor_text(()) == "nothing stands in the way of a deploy"


def test_the_worst_comes_first_and_each_group_is_counted():
    text = doctor_text(
        [
            notice(Severity.INFO, "one"),
            notice(Severity.ERROR, "two"),
            notice(Severity.WARNING, "three"),
            notice(Severity.ERROR, "four"),
        ]
    )
    heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
    assert heads == ["a deploy would fail (2)", "worth mending (1)", "good to know (1)"]
    assert text.index("two") < text.index("four") < text.index("three") < text.index("one")


def test_without_errors_it_is_said_that_a_deploy_works():
    text = doctor_text([notice(Severity.WARNING, "three")])
    assert text.endswith("nothing stands in the way of a deploy")
    failing = doctor_text([notice(Severity.ERROR, "two")])
    assert "nothing stands in the way" not in failing


def test_evidence_hint_and_fixes():
    text = doctor_text(
        [
            notice(
                Severity.WARNING,
                "x",
                evidence=("docker info: Driver vfs",),
                fix=("sudo one", "sudo two"),
                hint="because",
            )
        ]
    )
    assert "    seen: docker info: Driver vfs" in text
    assert "    hint: because" in text
    assert "    fix:  sudo one\n    fix:  sudo two" in text


def test_a_hint_that_only_repeats_the_fixes_is_not_told_twice():
    found = notice(Severity.INFO, "x", fix=("a", "b"), hint="a; b")
    assert "hint" not in doctor_text([found])


def test_a_finding_of_the_plan_has_a_hint_alone():
    found = Finding(severity=Severity.WARNING, code="nvmap_36_4_7", message="m", hint="reboot")
    assert "    hint: reboot" in doctor_text([found])


def test_every_recorded_host_reads_in_80_columns():
    from speccompose.device.preflight import judge

    for name in NAMES:
        one = capture(name)
        text = doctor_text([as_finding(item) for item in judge(one.observed, one.needs)])
        long = [
            line
            for line in text.splitlines()
            if len(line) > 80 and not line.startswith("    fix:") and len(line.split()) > 2
        ]
        assert long == [], name
