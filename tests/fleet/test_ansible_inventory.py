"""Inventories that only Ansible reads, asked of the real Ansible."""

import pytest

from speccompose.device.command import TIMED_OUT, Completed
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


def refused(path, ask=None) -> str:
    with pytest.raises(DataError) as caught:
        inventory_text(path, ask)
    return "\n".join((caught.value.brief, *caught.value.details, caught.value.hint or ""))


def test_a_yaml_file_is_read_by_ansibles_own_rules(tmp_path):
    """Variables and tags of a group count for the hosts of its children, wherever these stand."""
    (tmp_path / "hosts.yaml").write_text("""\
press:
  hosts: {"p[01:02]": , "off": {ansible_user: mine}}
line:
  vars: {ansible_user: deploy, ansible_ssh_common_args: -J gate}
  children: {press: }
""")
    boards = boards_of(tmp_path / "hosts.yaml")
    assert list(boards) == ["p01", "p02", "off"]
    assert [board.user for board in boards.values()] == ["deploy", "deploy", "mine"]
    assert {board.jump for board in boards.values()} == {"gate"}
    assert set(boards["p02"].tags) == {"line", "press"}


def test_what_ansible_cannot_read_is_said_without_what_it_quotes(tmp_path):
    (tmp_path / "hosts").write_text('[press]\na ansible_password="hunter2\n')
    told = refused(tmp_path / "hosts")
    assert "cannot read inventory" in told
    assert "No closing quotation" in told
    assert f"ansible-inventory -i {tmp_path}/hosts --list" in told
    assert "hunter2" not in told


def test_of_the_plug_ins_that_tried_the_one_for_the_file_is_heard(tmp_path):
    (tmp_path / "hosts.yaml").write_text("press: {hosts: {off: }}\n")
    told = refused(tmp_path / "hosts.yaml")
    assert "Host pattern False must be a string" in told
    assert "reserved to provide a port" not in told


def test_what_ansible_passes_over_is_an_error(tmp_path):
    (tmp_path / "hosts.yaml").write_text("press: {hosts: {a: }, host: {b: }}\n")
    assert "unexpected key" in refused(tmp_path / "hosts.yaml")


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_script_that_fails_is_no_list_of_its_words(tmp_path, mode):
    script = tmp_path / "hosts.sh"
    script.write_text("#!/bin/sh\nfalse\n")
    script.chmod(mode)
    assert ("chmod +x" in refused(script)) == (mode == 0o644)


@pytest.mark.parametrize("name", ["a,b", "d$HOME", "back~"])
def test_a_path_that_ansible_would_take_for_something_else(tmp_path, name):
    (tmp_path / name).write_text("[x]\na\n")
    assert "another name" in refused(tmp_path / name)


def test_the_users_settings_do_not_change_what_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("ANSIBLE_INVENTORY_EXPORT", "1")
    monkeypatch.setenv("ANSIBLE_VERBOSITY", "1")
    (tmp_path / "hosts").write_text(INI)
    assert boards_of(tmp_path / "hosts")["off"].user == "deploy"


def test_ansible_is_asked_once_in_the_inventorys_folder_and_of_no_list(tmp_path):
    def ask(argv, timeout_s, folder):
        asked.append((argv[-3:], folder))
        return Completed(tuple(argv), 0, '{"_meta": {"hostvars": {"a": {}}}}', "")

    asked: list[object] = []
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "hosts.json").write_text('{"_meta": {"hostvars": {"a": {}}}}')
    assert read_inventory(inventory_text(tmp_path / "hosts.json", ask), "x")[0].id == "a"
    assert asked == []
    (tmp_path / "hosts.ini").write_text("[x]\na\n")
    assert read_inventory(inventory_text(tmp_path / "hosts.ini", ask), "x")[0].id == "a"
    assert asked == [(("-i", str(tmp_path / "hosts.ini"), "--list"), tmp_path)]


def test_one_that_takes_for_ever_is_ended(tmp_path):
    def ask(argv, timeout_s, folder):
        return Completed(tuple(argv), TIMED_OUT, "", "env timed out after 120 s")

    (tmp_path / "hosts").write_text("[x]\na\n")
    assert "did not end within 120 s" in refused(tmp_path / "hosts", ask)


def test_the_fleet_files_own_words_count_more(tmp_path):
    (tmp_path / "hosts").write_text("[press]\na ansible_host='{{ x }}' ansible_port=2222\n")
    text = """\
fleet: 1
name: f
inventory: hosts
stacks: {chat: {model: m}}
deploy: [{stack: chat}]
boards: [{id: a, address: 10.0.0.1, device: dgx-spark, tags: [pilot]}]
"""
    (board,) = read(tmp_path, text).boards
    assert (board.address, board.port, board.tags) == ("10.0.0.1", 2222, ("press", "pilot"))


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
