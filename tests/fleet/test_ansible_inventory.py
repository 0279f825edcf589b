"""Inventories that only Ansible reads, asked of the real Ansible."""

import pytest

from speccompose.device.command import Completed
from speccompose.errors import DataError
from speccompose.fleet.ansible_inventory import inventory_text
from speccompose.fleet.inventory import read_inventory
from tests.fleet.fleets import read

INI = """\
[press]
press-[01:02] ansible_port=2222
off
007 ansible_host=10.0.0.7

[line:children]
press

[press:vars]
ansible_user=deploy
speccompose_device=dgx-spark
"""


def boards_of(path):
    return {board.id: board for board in read_inventory(inventory_text(path), str(path))}


def test_an_ini_file_with_the_variables_beside_it(tmp_path):
    (tmp_path / "hosts").write_text(INI)
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "line.yml").write_text("speccompose_site: north\n")
    boards = boards_of(tmp_path / "hosts")
    assert list(boards) == ["press-01", "press-02", "off", "007"]
    assert (boards["press-02"].port, boards["press-02"].user) == (2222, "deploy")
    assert set(boards["off"].tags) == {"press", "line"}
    assert {board.site for board in boards.values()} == {"north"}


def test_variables_beside_a_yaml_file_count_too(tmp_path):
    (tmp_path / "hosts.yaml").write_text("all:\n  hosts:\n    a:\n    b:\n")
    assert boards_of(tmp_path / "hosts.yaml")["a"].user is None
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars" / "a.yml").write_text("ansible_user: deploy\n")
    boards = boards_of(tmp_path / "hosts.yaml")
    assert (boards["a"].user, boards["b"].user) == ("deploy", None)


def test_a_folder_and_a_script(tmp_path):
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "a.ini").write_text("[press]\na\n")
    script = folder / "b.sh"
    script.write_text('#!/bin/sh\necho \'{"line": {"hosts": ["b"]}, "_meta": {"hostvars": {}}}\'\n')
    script.chmod(0o755)
    boards = boards_of(folder)
    assert (boards["a"].tags, boards["b"].tags) == (("press",), ("line",))
    assert boards_of(script)["b"].tags == ("line",)


def test_a_template_in_it_is_not_evaluated(tmp_path):
    made = tmp_path / "made"
    (tmp_path / "hosts").write_text(
        f"[press]\na ansible_host=\"{{{{ lookup('pipe', 'touch {made}') }}}}\"\n"
    )
    with pytest.raises(DataError, match="1 mistake") as caught:
        boards_of(tmp_path / "hosts")
    assert "template" in "\n".join(caught.value.details)
    assert not made.exists()


def test_what_ansible_cannot_read_is_said_in_its_words(tmp_path):
    (tmp_path / "hosts").write_text("[press\na\n[line:children]\nnobody\n")
    with pytest.raises(DataError, match="cannot read inventory") as caught:
        inventory_text(tmp_path / "hosts")
    assert caught.value.details
    assert "--list" in (caught.value.hint or "")


def test_ansible_is_asked_only_where_it_must_be(tmp_path):
    def ask(argv, timeout_s):
        asked.append(argv)
        return Completed(tuple(argv), 0, '{"_meta": {"hostvars": {"a": {}}}}', "")

    asked: list[object] = []
    (tmp_path / "hosts.yaml").write_text("all: {hosts: {a: {}}}\n")
    (tmp_path / "hosts.json").write_text('{"_meta": {"hostvars": {"a": {}}}}')
    for name in ("hosts.yaml", "hosts.json"):
        assert read_inventory(inventory_text(tmp_path / name, ask), name)[0].id == "a"
    assert asked == []
    (tmp_path / "hosts.ini").write_text("[x]\na\n")
    assert read_inventory(inventory_text(tmp_path / "hosts.ini", ask), "x")[0].id == "a"
    assert len(asked) == 1


def test_a_fleet_file_names_an_ini_inventory(tmp_path):
    (tmp_path / "hosts").write_text(INI)
    text = """\
fleet: 1
name: f
inventory: hosts
stacks:
  chat: {model: qwen3.5-9b}
deploy:
  - {stack: chat, tags: [line]}
"""
    fleet = read(tmp_path, text)
    assert {board.id for board in fleet.boards} == {"press-01", "press-02", "off", "007"}
