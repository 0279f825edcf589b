import pytest

from speccompose.errors import BoardError, UsageError
from speccompose.plan.board_refusal import RefusedBoardError
from speccompose.plan.detect import detect_device
from speccompose.plan.resolve import resolve_device, resolve_named
from speccompose.vocab.facts import RawFacts

TREE = "/sys/firmware/devicetree/base/compatible"
ORIN = "nvidia,p3767-0000\0nvidia,tegra234\0"
THOR = "nvidia,p3834-0008\0nvidia,tegra264\0"


def resolve(catalog, compatible, release=None, **options):
    files = {
        TREE: compatible,
        "/proc/meminfo": "MemTotal: 16018432 kB\nMemAvailable: 14000000 kB\n",
    }
    if release is not None:
        major, _, rest = release.partition(".")
        files["/etc/nv_tegra_release"] = f"# R{major} (release), REVISION: {rest}\n"
    commands = {"uname -m": "aarch64\n", **options.pop("commands", {})}
    facts = RawFacts(origin="test", files=files, commands=commands)
    return resolve_device(detect_device(facts), catalog, **options)


def codes(device):
    return [finding.code for finding in device.findings]


def test_everything_later_stages_need_is_there(catalog):
    device = resolve(catalog, ORIN, "36.4.4", commands={"nvpmodel -q": "NV Power Mode: 25W\n3\n"})
    assert (device.id, device.family, device.soc.compute_capability) == (
        "orin-nx-16gb",
        "orin-nx",
        "8.7",
    )
    assert (device.l4t, device.l4t_origin, device.jetpack) == ("36.4.4", "release file", "6.2.1")
    assert device.cuda == "12.6"
    assert (device.memory_mib, device.available_mib, device.os_reserve_mib) == (15643, 13568, 2075)
    assert (device.power_mode, device.from_profile) == ("25W", False)
    subjects = [decision.subject for decision in device.decisions]
    assert subjects == ["module", "L4T", "memory", "available memory"]
    assert all(decision.rule for decision in device.decisions)


def test_an_assumed_release_fills_a_missing_one_and_is_recorded(catalog):
    device = resolve(catalog, ORIN, assume_l4t="36.5")
    assert (device.l4t, device.l4t_origin, device.jetpack) == ("36.5.0", "assumed", "6.2.2")
    assert codes(device) == ["l4t_assumed"]
    assert any("--assume-l4t" in decision.rule for decision in device.decisions)


def test_an_assumed_release_replaces_the_one_read_and_is_recorded(catalog):
    device = resolve(catalog, THOR, "38.2.0", assume_l4t="38.4.0")
    assert (device.l4t, device.l4t_origin) == ("38.4.0", "assumed")
    message = next(f.message for f in device.findings if f.code == "l4t_assumed")
    assert "38.2.0" in message


def test_assuming_what_the_board_says_changes_nothing(catalog):
    assert resolve(catalog, ORIN, "36.4.3", assume_l4t="36.4.3") == resolve(catalog, ORIN, "36.4.3")


@pytest.mark.parametrize(
    ("compatible", "read", "assumed"),
    [
        (THOR, None, "36.4.3"),
        (THOR, "38.2.0", "36.4.3"),
        (ORIN, None, "38.4.0"),
        (ORIN, None, "35.4.1"),
        (ORIN, None, "37.0.0"),
        (ORIN, "38.4.0", "39.2.0"),
        (ORIN, "35.4.1", "36.4.3"),
        (THOR, "36.4.3", "38.4.0"),
    ],
)
def test_an_assumed_release_turns_no_contradiction_into_a_pass(catalog, compatible, read, assumed):
    with pytest.raises(RefusedBoardError) as refused:
        resolve(catalog, compatible, read, assume_l4t=assumed)
    assert refused.value.device is not None


@pytest.mark.parametrize("assumed", ["", "six", "36.4.3.2"])
def test_a_malformed_assumption_is_a_usage_error(catalog, assumed):
    with pytest.raises(UsageError):
        resolve(catalog, ORIN, "36.4.3", assume_l4t=assumed)


def test_an_assumed_release_on_a_machine_without_l4t_is_refused(catalog):
    facts = RawFacts(origin="test", commands={"uname -m": "x86_64"})
    with pytest.raises(BoardError):
        resolve_device(detect_device(facts), catalog, assume_l4t="36.4.3")


@pytest.mark.parametrize(
    ("compatible", "release", "warned"),
    [
        ("nvidia,p3767-0005", "36.4.7", True),
        ("nvidia,p3767-0000", "36.4.7", True),
        ("nvidia,p3767-0000", "36.4.9", True),
        ("nvidia,p3767-0000", "36.4.4", False),
        ("nvidia,p3767-0000", "36.5.0", False),
        ("nvidia,p3701-0005", "36.4.7", False),
    ],
)
def test_the_allocator_fault_of_36_4_7(catalog, compatible, release, warned):
    assert ("nvmap_36_4_7" in codes(resolve(catalog, compatible, release))) == warned


def test_a_release_older_than_the_module_is_warned_about(catalog):
    assert "l4t_outside_module" in codes(resolve(catalog, "nvidia,p3834-0000", "38.2.0"))
    assert "l4t_outside_module" not in codes(resolve(catalog, "nvidia,p3834-0000", "38.4.0"))


def test_thor_may_have_no_release_and_orin_may_not(catalog):
    thor = resolve(catalog, THOR)
    assert (thor.l4t, thor.jetpack, thor.cuda, thor.release) == (None, None, None, None)
    with pytest.raises(RefusedBoardError, match="no L4T release is known"):
        resolve(catalog, ORIN)


# --device


@pytest.mark.parametrize(
    ("device_id", "l4t", "jetpack", "cuda"),
    [
        ("agx-thor-t5000", "39.2.1", "7.2.1", "13.2"),
        ("agx-thor-t4000", "39.2.1", "7.2.1", "13.2"),
        ("agx-orin-64gb", "39.2.1", "7.2.1", "13.2"),
        ("agx-orin-32gb", "39.2.1", "7.2.1", "13.2"),
        ("agx-orin-industrial", "39.2.1", "7.2.1", "13.2"),
        ("orin-nx-16gb", "39.2.1", "7.2.1", "13.2"),
        ("orin-nx-8gb", "39.2.1", "7.2.1", "13.2"),
        ("orin-nano-8gb", "39.2.1", "7.2.1", "13.2"),
        ("orin-nano-4gb", "39.2.1", "7.2.1", "13.2"),
        ("dgx-spark", None, None, None),
    ],
)
def test_a_named_device_has_the_newest_listed_release(catalog, device_id, l4t, jetpack, cuda):
    device = resolve_named(device_id, None, catalog)
    assert (device.id, device.l4t, device.jetpack, device.cuda) == (device_id, l4t, jetpack, cuda)
    assert device.from_profile
    assert device.memory_mib == device.profile.memory.usable_mib
    assert device.os_reserve_mib == device.profile.memory.os_reserve_mib
    assert [(item.severity.value, item.code) for item in device.findings] == (
        [] if l4t is None else [("info", "newest_l4t_taken")]
    )
    assert all(l4t in item.message for item in device.findings)


def test_a_named_release_is_taken_and_recorded(catalog):
    device = resolve_named("agx-orin-64gb", "36.4.3", catalog)
    assert device.findings == ()
    assert (device.l4t, device.l4t_origin, device.jetpack) == ("36.4.3", "assumed", "6.2")
    assert any("--l4t" in decision.rule for decision in device.decisions)
    unlisted = resolve_named("agx-orin-64gb", "36.4.9", catalog)
    assert unlisted.jetpack == "unlisted (>= 6.2.1)"


@pytest.mark.parametrize(
    ("device_id", "l4t"),
    [
        ("agx-thor-t5000", "36.4.3"),
        ("agx-orin-64gb", "38.4.0"),
        ("orin-nx-16gb", "35.4.1"),
        ("orin-nx-16gb", "37.0"),
        ("dgx-spark", "39.2.0"),
    ],
)
def test_a_named_release_that_contradicts_the_device_is_refused(catalog, device_id, l4t):
    with pytest.raises(BoardError):
        resolve_named(device_id, l4t, catalog)


def test_every_unsupported_module_is_refused_by_name(catalog):
    old = [profile for profile in catalog.devices.values() if not profile.supported]
    assert old
    for profile in old:
        with pytest.raises(RefusedBoardError) as refused:
            resolve_named(profile.id, None, catalog)
        assert refused.value.device is not None
        assert refused.value.device.family in ("nano", "tx2", "xavier")


@pytest.mark.parametrize("device_id", ["generic-x86-64", "generic-arm64"])
def test_a_generic_machine_cannot_be_named(catalog, device_id):
    with pytest.raises(UsageError) as refused:
        resolve_named(device_id, None, catalog)
    assert "--facts" in (refused.value.hint or "")


def test_an_unknown_device_gets_near_names(catalog):
    with pytest.raises(UsageError) as refused:
        resolve_named("agx-orin-64", None, catalog)
    assert "agx-orin-64gb" in (refused.value.hint or "")
    with pytest.raises(UsageError) as refused:
        resolve_named("", None, catalog)
    assert "orin-nano-8gb" in (refused.value.hint or "")


def test_a_malformed_named_release_is_a_usage_error(catalog):
    with pytest.raises(UsageError):
        resolve_named("agx-orin-64gb", "jetpack6", catalog)
