"""Deploys, proofs, previews and status as text: what is absent is not printed."""

import msgspec
import pytest

from speccompose.device.long_prompt import LongPrompt
from speccompose.report.serving_text import deploy_text, preview_text, proof_text, status_text
from speccompose.vocab.finding import info, warning
from speccompose.vocab.preview import Preview
from tests.report.samples import DIGEST, deployed, document, proof, standing, too_wide


def test_a_first_deploy():
    text = deploy_text(deployed())
    assert text.splitlines()[0] == "tiny serves"
    for part in ("http://127.0.0.1:8000/v1", DIGEST, "32 tokens", "28 drafts", "2.12", "0.27.1"):
        assert part in text
    assert "before" not in text
    assert too_wide(text) == []


def test_a_deploy_over_another():
    assert "before" in deploy_text(deployed(previous_digest="sha256:b"))


def test_nothing_changed():
    text = deploy_text(deployed(changed=False, proof=None, previous_digest="sha256:b"))
    assert "nothing changed" in text
    assert "answered" not in text
    assert "before" not in text


def test_notices_are_shown():
    assert "note: cut short" in deploy_text(deployed(notices=("cut short",)))
    assert "note: no log" in proof_text("tiny", proof(notes=["no log"]))


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"drafts": None}, "speculates"),
        ({"mean_accepted_length": None}, "accepted length"),
        ({"engine_version": None}, "engine  "),
    ],
)
def test_what_the_engine_does_not_tell_is_left_out(changes, absent):
    assert absent in proof_text("tiny", proof())
    text = proof_text("tiny", proof(**changes))
    assert absent not in text
    assert "None" not in text


def test_preview(catalog):
    plan = document(catalog)
    finding = warning("port_taken", "port 8000 is taken")
    before = Preview(document=plan, current_digest=None, changes=("+a", "-b"), findings=(finding,))
    text = preview_text(before)
    for part in ("would change", "nothing installed", plan.digest, "  +a", "  -b", "port_taken"):
        assert part in text
    warned = msgspec.structs.replace(plan, findings=(warning("w", "x"), info("i", "y")))
    told = preview_text(msgspec.structs.replace(before, document=warned))
    assert "w: x" in told
    assert "i: y" not in told
    same = Preview(document=plan, current_digest=plan.digest, changes=(), findings=())
    assert "nothing would change" in preview_text(same)
    assert before.changed
    assert not before.refused
    assert too_wide(text) == []
    assert not same.changed


def test_status():
    text = status_text([standing(), standing(name="other", previous_digest="sha256:b")])
    first, second = text.split("\n\n")
    for part in ("tiny", "committed", "running, healthy", "2026-11-30T07:00:00 UTC", "mtp"):
        assert part in first
    assert "previous" in second
    assert "previous" not in first
    assert too_wide(text) == []


def test_status_of_a_stack_without_container():
    gone = dict.fromkeys(("digest", "endpoint", "model", "method", "container", "state", "health"))
    text = status_text([standing(**gone, started_at=None, restarts=None, notice="set aside")])
    assert "None" not in text
    assert "set aside" in text
    assert "container    none" in text


def test_no_stacks():
    assert "no stack is installed" in status_text([])


def test_a_long_prompt_is_told_when_one_was_sent():
    answered = LongPrompt(context_tokens=4096, prompt_tokens=3891, elapsed_s=12.4)
    assert "long prompt" not in proof_text("tiny", proof())
    assert "3891 tokens of 4096, answered in 12 s" in proof_text("tiny", proof(), answered)
