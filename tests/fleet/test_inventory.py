"""The user's own Ansible inventory."""

import json

import pytest

from speccompose.errors import DataError
from speccompose.fleet.inventory import expand, read_inventory
from tests.fleet.fleets import read

YAML = """\
all:
  vars:
    ansible_user: deploy
  children:
    press:
      vars: {speccompose_site: north}
      hosts:
        press[01:03]:
          ansible_port: 2222
        off: {ansible_host: 10.0.0.9, ansible_user: root}
    line:
      children:
        press:
          hosts: {press02: }
      hosts:
        "007": {speccompose_device: dgx-spark}
"""


def test_the_yaml_form():
    boards = {board.id: board for board in read_inventory(YAML, "hosts.yaml")}
    assert list(boards) == ["press01", "press02", "press03", "off", "007"]
    assert boards["press01"].tags == ("press",)
    assert boards["press02"].tags == ("press", "line")
    assert (boards["press01"].port, boards["press01"].user) == (2222, "deploy")
    assert (boards["off"].address, boards["off"].user) == ("10.0.0.9", "root")
    assert boards["off"].site == "north"
    assert boards["007"].device == "dgx-spark"


def test_what_ansible_inventory_prints():
    data = {
        "_meta": {"hostvars": {"a": {"ansible_host": "h", "ansible_port": 22}, "007": {}}},
        "all": {"children": ["ungrouped", "press"]},
        "press": {"hosts": ["a"], "children": ["inner"]},
        "inner": {"hosts": ["007"]},
    }
    boards = {board.id: board for board in read_inventory(json.dumps(data), "x")}
    assert boards["a"].address == "h"
    assert boards["a"].tags == ("press",)
    assert boards["007"].tags == ("press", "inner")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a", ("a",)),
        ("b[1:3]", ("b1", "b2", "b3")),
        ("b[08:10]x", ("b08x", "b09x", "b10x")),
        ("r[a:c]", ("ra", "rb", "rc")),
        ("n[1:5:2]", ("n1", "n3", "n5")),
        ("r[a:b]n[1:2]", ("ran1", "ran2", "rbn1", "rbn2")),
    ],
)
def test_ranges(pattern, names):
    assert expand(pattern, "x") == names


@pytest.mark.parametrize("pattern", ["b[3:1]", "b[z:a]", "b[1:3:0]", "b[a:10]"])
def test_a_range_that_leads_nowhere_is_refused(pattern):
    with pytest.raises(DataError):
        expand(pattern, "x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[press]\na ansible_host=1\n", "ansible-inventory -i hosts --list"),
        ("plugin: amazon.aws.ec2\n", "no inventory that is read here"),
        ("- a\n", "no inventory that is read here"),
        ("{", "Expecting"),
        ("all:\n  hosts:\n    a: {ansible_host: '{{ lookup(1) }}'}\n", "a template"),
        ("all:\n  hosts:\n    a: {speccompose_site: '{% if x %}y{% endif %}'}\n", "a template"),
        ("all:\n  hosts:\n    a: {ansible_port: 70000}\n", "port"),
        ("all:\n  hosts:\n    'a b': {}\n", "a b"),
        ("all:\n  hosts:\n    a: {ansible_host: '-oProxyCommand=x'}\n", "address"),
        ("all:\n  hosts:\n    b[3:1]: {}\n", "counts up"),
    ],
)
def test_what_is_not_read_is_refused_in_words(text, words):
    with pytest.raises(DataError) as caught:
        read_inventory(text, "hosts")
    said = "\n".join((caught.value.brief, *caught.value.details, caught.value.hint or ""))
    assert words in said


def test_a_template_in_a_variable_that_is_not_read_does_not_matter():
    text = "all:\n  hosts:\n    a: {greeting: '{{ hello }}', ansible_host: h}\n"
    assert read_inventory(text, "x")[0].address == "h"


def test_a_fleet_file_names_it_and_adds_to_it(tmp_path):
    (tmp_path / "hosts.yaml").write_text(YAML)
    text = """\
fleet: 1
name: f
inventory: hosts.yaml
stacks:
  chat: {model: m}
deploy:
  - stack: chat
    tags: [press]
  - stack: chat
sites: {north: {}}
boards:
  - {id: press01, device: dgx-spark, tags: [pilot]}
  - {id: press02, device: dgx-spark}
  - {id: press03, device: dgx-spark}
  - {id: off, device: dgx-spark}
"""
    boards = {board.id: board for board in read(tmp_path, text).boards}
    assert boards["press01"].port == 2222
    assert boards["press01"].tags == ("press", "pilot")
    assert set(boards) == {"press01", "press02", "press03", "off", "007"}
