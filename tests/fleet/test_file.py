"""Fleet files: what they mean, and every mistake in them with its own message and place."""

import shutil

import pytest

from speccompose.errors import DataError, UsageError
from tests.fleet.fleets import MIXED, ROOT, read

HEAD = """\
fleet: 1
name: f
stacks:
  chat: {model: m}
deploy:
  - stack: chat
"""


def refused(folder, text, error=DataError):
    with pytest.raises(error) as caught:
        read(folder, text)
    return "\n".join((caught.value.brief, *caught.value.details, caught.value.hint or ""))


def boards(*lines, rule=""):
    head = HEAD + (f"    {rule}\n" if rule else "")
    return head + "boards:\n" + "".join(f"  - {line}\n" for line in lines)


def waves(*lines):
    rows = "".join(f"    - {{{line}}}\n" for line in lines)
    return boards("{id: a, device: x}") + "changes:\n  waves:\n" + rows


def window(zone, start, end):
    entry = f"  n: {{zone: {zone}, start: '{start}', end: '{end}'}}\n"
    return boards("{id: a, device: x}") + "windows:\n" + entry


def test_a_mixed_fleet_is_read(tmp_path, catalog):
    fleet = read(tmp_path, MIXED, catalog.devices)
    assert [board.id for board in fleet.boards][:2] == ["thor-1", "spark-1"]
    assert fleet.policy.allow_floating
    assert [rule.name for rule in fleet.policy.waves] == ["canary", "5 %", "25 %", "everyone"]


@pytest.mark.parametrize(
    "name", ["off", "007", "no", "true", "1e3", "0x1F", "null", "3.10", "12", "'007'", '"off"']
)
def test_names_are_text_however_they_are_written(tmp_path, name):
    fleet = read(tmp_path, boards(f"{{id: {name}, address: 10.0.0.1, device: dgx-spark}}"))
    assert fleet.boards[0].id == name.strip("'\"")


def test_names_of_tags_and_sites_are_text_too(tmp_path):
    text = boards("{id: a, tags: [off, 007], site: 12, device: dgx-spark}")
    text = text.replace("boards:", 'sites: {"12": {}}\nboards:')
    board = read(tmp_path, text).boards[0]
    assert board.tags == ("off", "007")
    assert board.site == "12"


MISTAKES = {
    "a name twice": (
        boards("{id: a, device: x}", "{id: b, device: x}", "{id: a, device: x}"),
        "fleet.yaml:10:", "each board once, boards[0] is 'a' too",
    ),
    "an address twice": (
        boards("{id: a, address: h, device: x}", "{id: b, address: h, device: x}"),
        "fleet.yaml:9:", "each address once, a has h:22 too",
    ),
    "an address that is another's name": (
        boards("{id: a, device: x}", "{id: b, address: a, device: x}"),
        "fleet.yaml:9:", "each address once, a has a:22 too",
    ),
    "an unknown tag": (
        boards("{id: a, tags: [press], device: x}", rule="tags: [pres]"),
        "fleet.yaml:7:", "did you mean press?",
    ),
    "an unknown stack": (
        boards("{id: a, device: x}").replace("- stack: chat", "- stack: chatt"),
        "fleet.yaml:6:", "did you mean chat?",
    ),
    "an unknown site": (
        boards("{id: a, site: nort, device: x}"), "fleet.yaml:8:", "a site of this file",
    ),
    "an unknown window": (
        boards("{id: a, window: night, device: x}"), "fleet.yaml:8:", "a window of this file",
    ),
    "an unknown module in deploy": (
        boards("{id: a, device: x}", rule="devices: [agx-thor]"),
        "fleet.yaml:7:", "did you mean agx-thor-t5000?",
    ),
    "an unknown family": (
        boards("{id: a, device: x}", rule="families: [thorr]"),
        "fleet.yaml:7:", "did you mean thor?",
    ),
    "an empty wave by a tag": (
        waves("name: c, per_class: 1", "name: pilots, tags: [pilot]", "name: all, share_pct: 100"),
        "fleet.yaml:12:", "wave 'pilots' is empty",
    ),
    "an empty wave by its size": (
        waves("name: c, per_class: 0"),
        "fleet.yaml:11:", "at least 1",
    ),
    "a wave that says who twice": (
        waves("name: c, per_class: 1, count: 2", "name: all, share_pct: 100"),
        "fleet.yaml:11:", "found per_class and count",
    ),
    "a first wave that leaves classes out": (
        waves("name: all, share_pct: 100"),
        "fleet.yaml:11:", "the first wave holds every class",
    ),
    "waves that leave boards over": (
        waves("name: c, per_class: 1"),
        "fleet.yaml:11:", "share_pct: 100 in the last wave",
    ),
    "a circle of requirements": (
        boards("{id: a, device: x}").replace(
            "  chat: {model: m}\n",
            "  chat: {model: m, requires: [two]}\n  two: {model: m, requires: [three]}\n"
            "  three: {model: m, requires: [chat]}\n"),
        "fleet.yaml:4:", "chat -> two -> three -> chat",
    ),
    "a stack that requires itself": (
        boards("{id: a, device: x}").replace("{model: m}", "{model: m, requires: [chat]}"),
        "fleet.yaml:4:", "chat -> chat",
    ),
    "an unknown requirement": (
        boards("{id: a, device: x}").replace("{model: m}", "{model: m, requires: [chad]}"),
        "fleet.yaml:4:", "did you mean chat?",
    ),
    "a stack that nobody gets": (
        boards("{id: a, device: x}").replace("  chat:", "  spare: {model: m}\n  chat:"),
        "fleet.yaml:4:", "a stack that some board gets",
    ),
    "an unknown time zone": (
        window("Europe/Atlantis", "22:00", "04:00"),
        "fleet.yaml:10:", "no time zone 'Europe/Atlantis'",
    ),
    "a window without length": (
        window("UTC", "22:00", "22:00"),
        "fleet.yaml:10:", "an end other than the start",
    ),
    "a window with a wrong time": (
        window("UTC", "25:00", "22:00"),
        "fleet.yaml:10:", "25:00",
    ),
    "no boards": (HEAD, "fleet.yaml:1:", "expected boards"),
    "no facts": (boards("{id: a}"), "fleet.yaml:8:", "expected facts/a.yaml or a device"),
    "a key that is none": (boards("{id: a, adress: h, device: x}"), "fleet.yaml:8:", "address"),
    "a board's name that is no host name": (
        boards("{id: 'a b', device: x}"), "fleet.yaml:8:", "found text 'a b'",
    ),
    "a board's name that is an option": (
        boards("{id: -oProxyCommand=x, device: x}"), "fleet.yaml:8:", "-oProxyCommand",
    ),
    "an address that is an option": (
        boards("{id: a, address: -oProxyCommand=x, device: x}"), "fleet.yaml:8:", "-oProxy",
    ),
    "a port out of range": (boards("{id: a, port: 70000, device: x}"), "fleet.yaml:8:", "65535"),
    "another version": (boards("{id: a, device: x}").replace("fleet: 1", "fleet: 2"), ":1:", "1"),
    "no YAML": ("fleet: 1\nname: [", "fleet.yaml:3:", "readable YAML"),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_every_mistake_has_its_message_and_its_line(tmp_path, what):
    text, place, words = MISTAKES[what]
    said = refused(tmp_path, text)
    assert place in said
    assert words in said


def test_a_circle_is_told_once(tmp_path):
    said = refused(tmp_path, MISTAKES["a circle of requirements"][0])
    assert said.count("->") == 3


def test_all_mistakes_are_told_at_once(tmp_path):
    said = refused(tmp_path, boards("{id: a, site: x}", "{id: a, window: y, device: x}"))
    assert "2 mistakes" not in said
    for words in ("each board once", "a site of this file", "a window of this file"):
        assert words in said


def test_facts_lie_beside_the_fleet_file(tmp_path):
    (tmp_path / "facts").mkdir()
    shutil.copy(ROOT / "tests/facts/d-02.yaml", tmp_path / "facts" / "a.yaml")
    shutil.copy(ROOT / "tests/facts/d-02.yaml", tmp_path / "b-facts.yaml")
    fleet = read(tmp_path, boards("{id: a}", "{id: b, facts: b-facts.yaml}", "{id: c, device: x}"))
    assert set(fleet.facts) == {"a", "b"}


def test_every_broken_facts_file_is_told(tmp_path):
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "a.yaml").write_text("facts: 9\n")
    said = refused(tmp_path, boards("{id: a}", "{id: b, facts: none.yaml}"))
    assert "a.yaml:1:8" in said
    assert "none.yaml" in said


def test_an_unknown_policy_names_the_nearest(tmp_path):
    said = refused(tmp_path, boards("{id: a, device: x}") + "policy: carefull\n", UsageError)
    assert "did you mean careful?" in said


def test_a_missing_fleet_file_is_told(tmp_path):
    from speccompose.fleet.file import read_fleet

    with pytest.raises(DataError) as caught:
        read_fleet(tmp_path / "none.yaml", (), ())
    assert "none.yaml" in caught.value.brief


@pytest.mark.parametrize("text", ["all:\n  hosts:\n    a:\n", '{"_meta": {"hostvars": {}}}'])
def test_an_inventory_given_as_a_fleet_file_is_recognised(tmp_path, text):
    assert "inventory: fleet.yaml" in refused(tmp_path, text)


def test_the_users_own_policies_win(tmp_path):
    from speccompose.fleet.policy_file import read_policy

    own = tmp_path / "rollouts"
    own.mkdir()
    text = (ROOT / "profiles/rollouts/default.yaml").read_text()
    (own / "default.yaml").write_text(text + "max_parallel: 3\n")
    assert read_policy("default", (ROOT / "profiles", tmp_path)).max_parallel == 3
    (own / "other.yaml").write_text(text)
    with pytest.raises(DataError):
        read_policy("other", (tmp_path,))
