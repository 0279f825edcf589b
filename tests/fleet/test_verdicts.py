"""What a canary measured comes into the store; what decides nothing does not."""

import pytest

from speccompose.fleet.simulated_board import Trouble
from speccompose.fleet.verdicts import results_of
from speccompose.vocab.measured import MeasuredKey
from tests.fleet.made import NEW, PLAIN, World, plan, policy, stack

KEY = MeasuredKey(
    image="vllm-upstream",
    version="0.27.1",
    digest=None,
    target="a/b",
    draft=None,
    method="mtp",
    depth=3,
    device="agx-thor-t5000",
    power_mode="MAXN",
)


def world(verdict, *, strict=False, **changes):
    stacks = {
        NEW: stack(**{"accept": True, "measured_as": KEY, **changes}),
        PLAIN: stack(PLAIN, method="none"),
    }
    made = World(
        plan("a1 b1", "a2", stacks=stacks, rules=policy(strict=strict)),
        {"a1": Trouble(verdicts={NEW: verdict})},
    )
    made.run()
    return made.journal.state


@pytest.mark.parametrize(
    ("verdict", "speed"), [("accepted", 150.0), ("marginal", 115.0), ("rejected", 95.0)]
)
def test_a_decided_verdict_is_kept_with_its_speeds(verdict, speed):
    stacks = {NEW: stack(accept=True, measured_as=KEY), PLAIN: stack(PLAIN, method="none")}
    made = World(plan("a1", "a2", stacks=stacks), {"a1": Trouble(verdicts={NEW: verdict})})
    made.run()
    (result,) = results_of(made.journal.state)
    assert (result.key, result.outcome) == (KEY, verdict)
    assert (result.baseline_tokens_s, result.speculative_tokens_s) == (100.0, speed)
    assert result.measured_at == made.journal.state.verdicts[NEW].at


@pytest.mark.parametrize("verdict", ["inconclusive", "invalid"])
def test_what_was_left_open_is_not_kept(verdict):
    stacks = {NEW: stack(accept=True, measured_as=KEY), PLAIN: stack(PLAIN, method="none")}
    made = World(plan("a1", stacks=stacks), {"a1": Trouble(verdicts={NEW: verdict})})
    made.run()
    assert made.journal.state.verdicts[NEW].verdict == verdict
    assert results_of(made.journal.state) == ()


def test_a_synthetic_acceptance_is_no_result():
    assert results_of(world("accepted", synthetic=True)) == ()


def test_boards_that_only_answer_give_no_result():
    assert results_of(world("accepted", accept=False, measured_as=None)) == ()


def test_strictly_judged_is_kept_as_such():
    state = world("marginal", strict=True)
    assert {result.strict for result in results_of(state)} == {True}
