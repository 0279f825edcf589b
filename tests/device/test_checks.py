"""Every known pitfall of a host is found by its code; a healthy board of each family has none."""

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompose.device.check_bridges import check_bridges
from speccompose.device.check_clock import check_clock
from speccompose.device.check_disk import check_disk
from speccompose.device.check_engine import SILENT, check_engine
from speccompose.device.check_gpu import check_gpu
from speccompose.device.check_memory import check_memory
from speccompose.device.check_network import check_network
from speccompose.device.check_ports import check_ports
from speccompose.device.check_power import check_power
from speccompose.device.check_rights import check_rights
from speccompose.device.check_upkeep import check_upkeep
from speccompose.device.conditions import Conditions
from speccompose.device.host_finding import ERROR, WARNING
from speccompose.device.host_reader import Disk, Reached
from speccompose.device.host_texts import Needs
from speccompose.device.observe import CDI_SPECS, DOCKER_INFO, FILES, Observed, Output
from speccompose.device.preflight import judge
from tests.device.host_captures import HEALTHY, NAMES, capture
from tests.generated_findings import DOCS, read_table

CHECKS = (
    check_bridges,
    check_clock,
    check_disk,
    check_engine,
    check_gpu,
    check_memory,
    check_network,
    check_ports,
    check_power,
    check_rights,
    check_upkeep,
)


def found(name: str) -> dict[str, str]:
    one = capture(name)
    return {item.code: item.severity for item in judge(one.observed, one.needs)}


@pytest.mark.parametrize("name", NAMES)
def test_each_host_has_exactly_its_findings(name):
    assert found(name) == capture(name).expect


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_board_has_nothing_to_mend(name):
    assert [code for code, how in found(name).items() if how in (ERROR, WARNING)] == []


def test_every_family_has_a_healthy_board():
    families = ("agx-orin", "orin-nano", "orin-nx", "thor", "dgx-spark", "generic")
    for family in families:
        assert any(name.startswith(f"healthy-{family}") for name in HEALTHY), family


def test_every_check_has_hosts_that_it_judges():
    """No check is dead: each finds something on one of the hosts at least."""
    for check in CHECKS:
        codes = set()
        for name in NAMES:
            one = capture(name)
            codes |= {item.code for item in check(one.observed, one.needs)}
        assert codes, check.__name__


def all_findings():
    return [item for name in NAMES for one in [capture(name)] for item in judge(*one[:2])]


def test_every_code_is_explained():
    page = DOCS.read_text()
    listed = {*read_table(page, "Findings"), *read_table(page, "Refusals")}
    assert {item.code for item in all_findings()} <= listed


def test_fixes_are_command_lines_and_errors_tell_what_to_do():
    for item in all_findings():
        for line in item.fix:
            assert shlex.split(line, comments=True), item
            assert len(line) <= 130, line
        if item.severity == ERROR:
            assert item.fix or item.hint, item.code


def test_without_any_answer_nothing_is_known_and_nothing_is_said():
    for needs in (Needs(), Needs(gpu_runtime="nvidia", host_network=True, port=80)):
        assert judge(Observed(), needs) == []


@pytest.mark.parametrize("name", HEALTHY)
def test_each_text_may_be_missing(name):
    """One unread file or command makes no error out of a healthy board."""
    one = capture(name)
    for part in ("outputs", "files", "folders", "disks"):
        for key in getattr(one.observed, part):
            rest = {k: v for k, v in getattr(one.observed, part).items() if k != key}
            left = one.observed._replace(**{part: rest})
            bad = [i for i in judge(left, one.needs) if i.severity == ERROR]
            assert bad == [], key


def test_a_silent_engine_is_one_finding_of_its_kind():
    for name in NAMES:
        codes = list(found(name))
        assert len([code for code in codes if code in SILENT]) <= 1, name


TEXT = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "{}",
            "[]",
            "null",
            '{"ServerVersion": 7}',
            '{"ServerVersion": "x.y"}',
            "\0\ufffd\n\t",
            "a b c d e f g h\n" * 3,
            "oom_kill 99999999999999999999",
            "R36 (release), REVISION: 4",
            "< POWER_MODEL ID=0 NAME=MAXN >",
            "-1",
            "٣٣",
        ]
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=8), part, max_size=3)
    ),
    max_leaves=6,
)
INFO_KEYS = (
    *("Runtimes", "DriverStatus", "DockerRootDir", "KernelVersion", "SecurityOptions", "Name"),
    *("Warnings", "ClientInfo", "MemoryLimit", "LiveRestoreEnabled", "DefaultRuntime", "Driver"),
)


@st.composite
def garbage(draw) -> Observed:
    """A host of which any text may be anything."""
    healthy = capture(draw(st.sampled_from(HEALTHY))).observed
    keys = st.sampled_from([*healthy.outputs, "docker container inspect", "sudo -n true"])
    texts = st.builds(Output, st.integers(-2, 255), TEXT, TEXT)
    outputs = {**healthy.outputs, **draw(st.dictionaries(keys, texts, max_size=6))}
    if draw(st.booleans()):
        body = draw(st.dictionaries(st.sampled_from(INFO_KEYS), JSON, max_size=6))
        outputs[DOCKER_INFO] = Output(0, json.dumps({"ServerVersion": "28.0.1", **body}), "")
    paths = st.sampled_from([*FILES, *CDI_SPECS])
    numbers = st.integers(-(2**70), 2**70)
    moments = st.none() | st.floats(allow_nan=False, width=64)
    return healthy._replace(
        outputs=outputs,
        files={**healthy.files, **draw(st.dictionaries(paths, TEXT, max_size=6))},
        disks=draw(
            st.dictionaries(
                st.sampled_from(["/var/lib/docker", "/var/lib/speccompose"]),
                st.builds(Disk, numbers, numbers, numbers, numbers),
            )
        ),
        memory_mib=draw(
            st.dictionaries(
                st.sampled_from(["MemTotal", "MemFree", "MemAvailable", "SwapTotal", "SwapFree"]),
                numbers,
            )
        ),
        reached=draw(st.dictionaries(TEXT, st.builds(Reached, st.none() | TEXT, moments))),
        conditions=draw(
            st.none()
            | st.builds(
                Conditions,
                st.none() | TEXT,
                st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
                st.just(()),
                st.lists(TEXT, max_size=2).map(tuple),
                st.none() | st.floats(allow_nan=False),
            )
        ),
        now_s=draw(moments),
        past_s=draw(moments),
        modules=draw(st.none() | TEXT),
        state_root=draw(TEXT),
        kernel=draw(TEXT),
        absent=draw(st.lists(TEXT, max_size=3).map(tuple)),
        host_name=draw(st.none() | TEXT),
        user_id=draw(st.none() | st.integers(0, 65535)),
        disk_rate_mib_s=draw(st.none() | st.floats(0, 1e6)),
        raw_table=draw(st.none() | st.booleans()),
    )


@settings(max_examples=150, deadline=None)
@given(
    garbage(),
    st.builds(
        Needs,
        st.none() | st.just("nvidia"),
        st.booleans(),
        st.booleans(),
        st.none() | st.floats(allow_nan=False),
        st.booleans(),
        st.none() | st.integers(1, 65535),
    ),
)
def test_no_text_crashes_a_check(observed, needs):
    for item in judge(observed, needs):
        assert item.severity in ("error", "warning", "info")
        assert item.message
        assert all(isinstance(text, str) for text in (*item.evidence, *item.fix))
        json.dumps(item._asdict())
