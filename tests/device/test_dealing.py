"""As many requests as were asked for, every one unlike any other, the same for both arms."""

from hypothesis import given
from hypothesis import strategies as st

from speccompose.device.dataset import Conversation, Dataset, builtin
from speccompose.device.dealing import deal, fixed_openings, marked, openings


def dataset(*lengths):
    made = [
        Conversation(f"c{n}", None, tuple(f"c{n} t{t}" for t in range(length)))
        for n, length in enumerate(lengths)
    ]
    return Dataset("test", "0", tuple(made))


LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=9)


@given(LENGTHS, st.integers(1, 60), st.integers(1, 16))
def test_exactly_so_many_requests_and_something_for_every_client(lengths, requests, clients):
    dealt = deal(dataset(*lengths), requests, clients=clients, mark="m")
    assert sum(len(each.turns) for each in dealt) == max(requests, clients)
    assert len(dealt) >= clients
    assert all(each.turns for each in dealt)


@given(LENGTHS, st.integers(1, 60))
def test_no_two_conversations_begin_alike(lengths, requests):
    dealt = deal(dataset(*lengths), requests, clients=1, mark="m/r1")
    others = deal(dataset(*lengths), requests, clients=1, mark="m/r2")
    starts = [each.turns[0][:12] for each in (*dealt, *others)]
    assert len(set(starts)) == len(starts)
    assert deal(dataset(*lengths), requests, clients=1, mark="m/r1") == dealt


def test_the_built_in_set_is_one_of_each_category():
    dealt = deal(builtin(), 11, clients=1, mark="m")
    assert len({each.category for each in dealt}) == 11


def test_the_mark_stands_in_front_of_everything():
    talk = Conversation("a", None, ("one", "two"), "be brief")
    assert marked(talk, "m").system.endswith("] be brief")
    assert marked(talk, "m").turns == ("one", "two")
    assert marked(talk._replace(system=None), "m").turns[0].endswith("] one")


def test_openings_are_single_questions():
    assert [each.turns for each in fixed_openings(dataset(3, 2), 2)] == [("c0 t0",), ("c1 t0",)]
    assert len(openings(dataset(3), 4, mark="w")) == 4
    assert {len(each.turns) for each in openings(dataset(3), 4, mark="w")} == {1}
