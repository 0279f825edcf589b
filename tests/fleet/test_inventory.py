"""What `ansible-inventory --list` prints."""

import json
import time

import pytest

from speccompose.errors import DataError
from speccompose.fleet.inventory import is_list, read_inventory


def listed(hosts: dict[str, object], **groups: object) -> str:
    return json.dumps({"_meta": {"hostvars": hosts}, **groups})


def said(error: DataError) -> str:
    return "\n".join((error.brief, *error.details, error.hint or ""))


def test_groups_are_tags_with_all_that_they_are_part_of():
    text = listed(
        {"a": {"ansible_host": "h", "ansible_port": 22}, "007": {}},
        all={"children": ["ungrouped", "press"]},
        press={"hosts": ["a"], "children": ["inner"]},
        inner={"hosts": ["007"]},
        _hidden={"hosts": ["a"]},
    )
    boards = {board.id: board for board in read_inventory(text, "x")}
    assert boards["a"].address == "h"
    assert boards["a"].tags == ("press",)
    assert boards["007"].tags == ("press", "inner")


def test_hosts_that_have_no_variables_or_no_group():
    boards = read_inventory(listed({"lone": {}}, ungrouped={"hosts": ["off"]}), "x")
    assert [(board.id, board.tags) for board in boards] == [("off", ()), ("lone", ())]


def test_groups_in_a_ring_and_in_layers_of_diamonds_are_walked_once():
    layers = {f"l{n}": {"children": [f"a{n}", f"b{n}"]} for n in range(60)}
    sides = {f"{s}{n}": {"children": [f"l{n + 1}"]} for n in range(60) for s in "ab"}
    text = listed({}, **layers, **sides, l60={"hosts": ["x"], "children": ["l0"]})
    began = time.process_time()
    (board,) = read_inventory(text, "x")
    assert len(board.tags) == 181
    assert time.process_time() - began < 30, "2 to the power of 60 ways lead there"


def test_every_mistake_of_every_host_is_told():
    text = listed({"a": {"ansible_port": 0}, "b c": {}, "d": {"ansible_host": ["h"]}})
    with pytest.raises(DataError, match="3 mistakes") as caught:
        read_inventory(text, "hosts")
    for words in ("a.ansible_port", "b c", "d.ansible_host"):
        assert words in said(caught.value)


def test_what_the_fleet_file_says_itself_is_not_asked_of_the_inventory():
    text = listed({"a": {"ansible_host": "{{ x }}", "ansible_user": "deploy"}})
    (board,) = read_inventory(text, "x", {"a": ("id", "address")})
    assert (board.address, board.user) == (None, "deploy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting"),
        ('{"_meta"', "Expecting"),
        ("[]", "no inventory that is read here"),
        ('{"press": {"hosts": ["a"]}}', "ansible-inventory -i hosts --list"),
        (listed({"a": {}}, press={"hosts": ["a"], "vars": {"x": 1}}), "without --export"),
    ],
)
def test_what_is_no_list_is_refused(text, words):
    with pytest.raises(DataError) as caught:
        read_inventory(text, "hosts")
    assert words in said(caught.value)


def test_a_list_is_known_by_its_meta():
    assert is_list(' {"_meta": {}}')
    assert not is_list('{"all": {"hosts": {}}}')
    assert not is_list("[press]\na\n")
