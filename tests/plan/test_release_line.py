import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.release_line import package_version, read_l4t
from speccompose.vocab.facts import RawFacts

FILE = "/etc/nv_tegra_release"
CORE = "dpkg-query -W nvidia-l4t-core"


def reading(line=None, commands=None):
    files = {} if line is None else {FILE: line}
    return read_l4t(RawFacts(origin="test", files=files, commands=commands or {}))


@pytest.mark.parametrize(
    ("line", "l4t"),
    [
        ("# R32 (release), REVISION: 1.0, GCID: 14531094, BOARD: t210ref, EABI: aarch64", "32.1.0"),
        ("# R34 (release), REVISION: 1.1, GCID: 30414990, BOARD: t186ref", "34.1.1"),
        ("# R35 (release), REVISION: 2.1, GCID: 32398013, BOARD: t186ref, EABI: aarch64", "35.2.1"),
        ("# R36 (release), REVISION: 4.3, GCID: 38968081", "36.4.3"),
        ("# R36 (release), REVISION: 5, GCID: 1", "36.5.0"),
        ("# R39 (release), REVISION: 2.0, DATE: Mon Jun  1 09:28:48 PM UTC 2026", "39.2.0"),
        ("# KERNEL_VARIANT: oot\n# R36 (release), REVISION: 4.10\n", "36.4.10"),
        ("\ufeff# R36 (release), REVISION: 4.7\r\n", "36.4.7"),
    ],
)
def test_release_lines(line, l4t):
    found = reading(line)
    assert (found.l4t, found.origin, found.findings) == (l4t, "release file", ())


@given(
    board=st.sampled_from(["t186ref", "t210ref", "generic", "galaxy"]),
    gcid=st.integers(1, 99999999).filter(lambda number: number != 12345678),
    date=st.text(st.characters(blacklist_categories=["Cs"]), max_size=40),
)
def test_board_gcid_and_date_decide_nothing(board, gcid, date):
    line = f"# R36 (release), REVISION: 4.4, GCID: {gcid}, BOARD: {board}, DATE: {date}"
    assert reading(line) == reading("# R36 (release), REVISION: 4.4, GCID: 1, BOARD: x, DATE: y")


def test_an_artificial_release_file_is_named():
    line = "# R36 (release), REVISION: 4.0, GCID: 12345678, BOARD: generic"
    assert [finding.code for finding in reading(line).findings] == ["container_facts"]


@pytest.mark.parametrize("line", ["", "\0\0\0", "# R3", "# R36 (rel", "R (release), REVISION: 1"])
def test_an_unreadable_release_file_is_a_finding_and_the_package_counts(line):
    found = reading(line, {CORE: "nvidia-l4t-core\t36.4.4-20250616085344\n"})
    assert (found.l4t, found.origin) == ("36.4.4", "package")
    assert [finding.code for finding in found.findings] == ["release_file_unreadable"]
    assert reading(line).l4t is None


def test_the_release_file_goes_before_the_package():
    found = reading("# R38 (release), REVISION: 2.0", {CORE: "nvidia-l4t-core\t38.4.0-20251230"})
    assert (found.l4t, found.origin) == ("38.2.0", "release file")
    assert [finding.code for finding in found.findings] == ["l4t_sources_differ"]


@pytest.mark.parametrize(
    ("command", "output", "version"),
    [
        (CORE, "nvidia-l4t-core\t39.2.1-20260806224157\n", "39.2.1-20260806224157"),
        ("dpkg-query -W -f ${Version} nvidia-l4t-core", "39.2.1-2026", "39.2.1-2026"),
        ("dpkg-query -W nvidia-jetpack nvidia-l4t-core", "nvidia-jetpack\t7.2\n", None),
        ("dpkg -l", "ii nvidia-l4t-core 36.4.3-20250107174145 arm64 NVIDIA Core\n", "36.4.3-2025"),
        (CORE, "dpkg-query: no packages found matching nvidia-l4t-core\n", ""),
        ("apt list", "nvidia-l4t-core 36.4.3-1", None),
    ],
)
def test_package_versions(command, output, version):
    facts = RawFacts(origin="test", commands={command: output})
    found = package_version(facts, "nvidia-l4t-core")
    assert found == version or (version and found and found.startswith(version))


def test_a_package_without_a_version_is_no_release():
    found = reading(commands={CORE: "dpkg-query: no packages found matching nvidia-l4t-core\n"})
    assert (found.l4t, found.origin) == (None, None)


@pytest.mark.parametrize(
    ("output", "jetpack"),
    [
        ("nvidia-jetpack\t7.2.1-b49\n", "7.2.1"),
        ("nvidia-jetpack\t6.2.1+b38\n", "6.2.1"),
        ("nvidia-jetpack\t6.0+b106\n", "6.0"),
        ("", None),
    ],
)
def test_jetpack_package(output, jetpack):
    assert reading(commands={"dpkg-query -W nvidia-jetpack": output}).jetpack_package == jetpack
