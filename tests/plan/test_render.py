"""Stage 7: finished values become files; nothing that is printed changes its meaning."""

import hashlib
import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.catalog.yaml_file import parse_plain
from speccompose.errors import SpecComposeError
from speccompose.plan.render import (
    env_word,
    memory_limit_mib,
    published_port,
    render_stack,
    unit_word,
    url_host,
    yaml_scalar,
)
from speccompose.plan.reread import undouble
from tests.plan.test_assemble import stack
from tests.unit_keys import value_of

replace = msgspec.structs.replace
STATE = "/var/lib/speccompose"
PROGRAM = b"#!/usr/bin/env python3\nprogram"
FILES = {
    *("compose.yaml", "speccompose.env", "qwen3-8b.service", "plan.json", "acceptance.json"),
    *("check", "SHA256SUMS"),
}
PRINTABLE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co", "Zl", "Zp")))
NASTY = ["$HOME", "$$", "a: b", "- x", "'q'", '"q"', "#c", "ü€😀", "{a: 1}", "true", "1e3", " x "]


@pytest.fixture(scope="module")
def rendered(catalog):
    plan = stack(catalog)
    return plan, render_stack(plan, catalog, PROGRAM)


def text(rendered, name: str) -> str:
    return rendered[1].file(name).content.decode()


def test_all_files_of_the_contract(rendered):
    plan, files = rendered
    assert {item.path for item in files.files} == FILES
    assert (files.name, files.digest) == (plan.name, plan.digest)
    assert {item.path for item in files.files if item.mode == 0o755} == {"check"}
    assert files.file("check").content == PROGRAM


def test_a_file_that_is_not_there(rendered):
    with pytest.raises(KeyError):
        rendered[1].file("nothing")


def test_sums_cover_every_other_file(rendered):
    lines = text(rendered, "SHA256SUMS").splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert set(sums) == FILES - {"SHA256SUMS"}
    for item in rendered[1].files:
        if item.path != "SHA256SUMS":
            assert sums[item.path] == hashlib.sha256(item.content).hexdigest()
    assert list(sums) == sorted(sums)


def test_acceptance_is_that_of_the_plan(rendered):
    accepted = json.loads(text(rendered, "acceptance.json"))
    assert accepted == json.loads(text(rendered, "plan.json"))["acceptance"]


def test_the_same_plan_gives_the_same_bytes(rendered, catalog):
    assert render_stack(stack(catalog), catalog, PROGRAM) == rendered[1]


@pytest.mark.parametrize("value", NASTY)
def test_every_word_comes_back_out_of_yaml(catalog, value):
    plan = stack(catalog)
    odd = replace(
        plan, command=(*plan.command, value), environment={**plan.environment, "ODD": value}
    )
    printed = render_stack(odd, catalog, PROGRAM).file("compose.yaml").content.decode()
    service = parse_plain(printed)["services"]["server"]
    assert undouble(service["command"][-1]) == value
    assert undouble(service["environment"]["ODD"]) == value


@settings(max_examples=200, deadline=None)
@given(value=PRINTABLE)
def test_a_scalar_reads_back(value):
    assert undouble(parse_plain(f"x: {yaml_scalar(value)}\n")["x"]) == value


def test_scalars_of_other_kinds():
    assert (yaml_scalar(True), yaml_scalar(7)) == ("true", "7")
    with pytest.raises(ValueError, match="absent"):
        yaml_scalar(None)


@pytest.mark.parametrize("char", [" ", "\t", "\n", '"', "'", "\\", ";"])
def test_a_value_that_cannot_stand_in_a_unit(char):
    with pytest.raises(ValueError, match="unit"):
        unit_word(f"/var{char}lib")


def test_a_percent_sign_in_a_unit_is_doubled():
    assert unit_word("/var/100%") == "/var/100%%"


def test_words_of_the_env_file():
    assert env_word("qwen3-8b_x") == "qwen3-8b_x"
    assert env_word("a/b c$d") == "'a/b c$d'"
    for value in ("a\nb", "it's"):
        with pytest.raises(ValueError, match="env file"):
            env_word(value)


def test_unit_bounds_starts_and_needs_its_mounts(rendered):
    unit = text(rendered, "qwen3-8b.service")
    plan = rendered[0]
    seconds = plan.health.start_deadline_s
    assert f"--wait-timeout {seconds} " in unit
    assert int(re.search(r"TimeoutStartSec=(\d+)", unit)[1]) > seconds
    for line in (
        "Type=oneshot",
        "RemainAfterExit=yes",
        "StartLimitBurst=3",
        f"RequiresMountsFor={STATE}/models {STATE}/stacks/qwen3-8b/current",
    ):
        assert line in unit
    assert "--pull never" in unit


def test_three_starts_that_run_into_their_deadline_still_count_together(catalog):
    """StartLimit counts within an interval: it must outlast all the starts that it counts."""
    for device in ("agx-thor-t5000", "dgx-spark"):
        printed = render_stack(stack(catalog, device), catalog, PROGRAM)
        unit = printed.file("qwen3-8b.service").content.decode()
        start = int(value_of(unit, "TimeoutStartSec")[0]) + int(value_of(unit, "RestartSec")[0])
        burst = int(value_of(unit, "StartLimitBurst")[0])
        assert int(value_of(unit, "StartLimitIntervalSec")[0]) > burst * start


def test_the_unit_checks_before_it_starts_and_comes_after_recover(rendered):
    unit = text(rendered, "qwen3-8b.service")
    folder = f"{STATE}/stacks/qwen3-8b/current"
    before = value_of(unit, "ExecStartPre")
    assert before == [
        f"{folder}/check --state {STATE} --secrets /etc/speccompose/secrets boot-check qwen3-8b"
    ]
    after = " ".join(value_of(unit, "After")).split()
    for other in ("docker", "speccompose-recover", "speccompose-power", "nvpmodel"):
        assert f"{other}.service" in after
    assert value_of(unit, "Requires") == value_of(unit, "BindsTo") == []
    assert "speccompose-recover.service" not in " ".join(value_of(unit, "Wants"))
    assert value_of(unit, "Environment") == ["DOCKER_CONFIG=/etc/speccompose/docker"]


def test_a_state_tree_in_a_home_folder_is_not_hidden_from_its_own_unit(catalog, rendered):
    assert value_of(text(rendered, "qwen3-8b.service"), "ProtectHome") == ["yes"]
    for root in ("/home/me/state", "/root/state"):
        plan = stack(catalog, state_root=root)
        unit = render_stack(plan, catalog, PROGRAM).file("qwen3-8b.service").content.decode()
        assert value_of(unit, "ProtectHome") == ["read-only"]


def test_the_unit_follows_the_state_root(catalog):
    plan = stack(catalog, state_root="/data/sc")
    unit = render_stack(plan, catalog, PROGRAM).file("qwen3-8b.service").content.decode()
    assert "/data/sc/models /data/sc/stacks/qwen3-8b/current" in unit
    assert "/var/lib/speccompose" not in unit


def test_env_file_holds_where_to_ask(catalog):
    plan = stack(catalog, bind="0.0.0.0", insecure=True)
    env = render_stack(plan, catalog, PROGRAM).file("speccompose.env").content.decode()
    assert "SPECCOMPOSE_ENDPOINT='http://127.0.0.1:8000/v1'" in env
    assert f"SPECCOMPOSE_DIGEST='{plan.digest}'" in env
    assert "COMPOSE_PROJECT_NAME=speccompose-qwen3-8b" in env


def test_ports_are_published_on_one_address(catalog):
    assert published_port(stack(catalog, "dgx-spark")) == "127.0.0.1:8000:8000"
    wide = stack(catalog, "dgx-spark", bind="::", insecure=True)
    assert published_port(wide) == "[::]:8000:8000"
    assert url_host("::1") == "[::1]"


@pytest.mark.parametrize("device", ["agx-thor-t5000", "dgx-spark", "agx-orin-64gb"])
def test_the_memory_limit_leaves_the_headroom(catalog, device):
    plan = stack(catalog, device)
    limit = memory_limit_mib(plan)
    assert limit % 256 == 0
    assert plan.memory.used_mib - plan.memory.os_reserve_mib < limit
    assert limit <= plan.memory.total_mib - 2048


def test_the_label_is_the_only_one(rendered):
    service = parse_plain(text(rendered, "compose.yaml"))["services"]["server"]
    assert service["labels"] == {"io.speccompose.stack": "qwen3-8b"}


def with_template(catalog, name: str, old: str, new: str):
    text = catalog.templates[name]
    assert old in text
    return replace(catalog, templates={**catalog.templates, name: text.replace(old, new)})


def test_a_template_that_says_something_else_is_found(catalog):
    odd = with_template(catalog, "compose.yaml.j2", "    image:", '    image: "x" #')
    with pytest.raises(SpecComposeError, match="does not say what was planned") as caught:
        render_stack(stack(catalog), odd, PROGRAM)
    assert caught.value.status == 1


def test_a_template_may_not_ask_for_what_no_view_has(catalog):
    from jinja2 import UndefinedError

    odd = with_template(catalog, "stack.service.j2", "{{ name }}", "{{ nothing }}")
    with pytest.raises(UndefinedError):
        render_stack(stack(catalog), odd, PROGRAM)
