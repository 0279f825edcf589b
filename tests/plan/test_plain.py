"""A request without speculation keeps everything that is not about drafting."""

from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.plain import drafting_flags, without_speculation
from speccompose.vocab.request import StackRequest

PAIRS = [("spec-draft-p-min", "0.7"), ("--draft-p-min", "1"), ("ub", "256"), ("-md", "x")]
FLAGS = st.lists(st.sampled_from(PAIRS))


@given(FLAGS, st.sampled_from(["auto", "none", "mtp"]), st.sampled_from([None, 3]))
def test_nothing_about_drafting_is_left_and_all_else_is(flags, method, depth):
    request = StackRequest(
        model="m", method=method, depth=depth, draft="a/b", set_flags=tuple(flags), port=9000
    )
    plain = without_speculation(request)
    assert (plain.method, plain.draft, plain.depth, plain.port) == ("none", None, None, 9000)
    assert drafting_flags(plain) == ()
    assert plain.set_flags == tuple(each for each in flags if each[0] == "ub")
    assert without_speculation(plain) == plain
