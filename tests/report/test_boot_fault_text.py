"""What a log tells, for people."""

from speccompose.device.boot_faults import explain
from speccompose.report.boot_fault_text import boot_fault_text
from tests.device.test_boot_faults import NAMES, read


def test_nothing_known():
    assert boot_fault_text(()) == "nothing in this log is known as the reason of a failed start"


def test_cause_line_and_what_to_do():
    text = boot_fault_text(explain(read("llama-mtp-without-heads").text))
    lines = text.splitlines()
    assert lines[0] == "cause: mtp_weights_missing"
    assert lines[2].startswith("  seen: line 8: ")
    assert any(line.startswith("  do:   take a GGUF") for line in lines)
    assert "follows from it: load_failed" in lines


def test_an_exit_status_has_no_line():
    text = boot_fault_text(explain("", exit_status=137))
    assert "seen: exit status 137" in text
    assert text.startswith("cause, in general: killed_for_memory")


def test_80_columns():
    for name in NAMES:
        log = read(name)
        text = boot_fault_text(explain(log.text, exit_status=log.exit_status))
        assert [line for line in text.splitlines() if len(line) > 80] == [], name
