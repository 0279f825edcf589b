"""The units of golden stacks: systemd takes them, 247 knows every key, little is exposed."""

import re
import shutil
import subprocess

import pytest

from tests.golden_cases import ALL_CASES as CASES
from tests.golden_cases import GOLDEN
from tests.unit_keys import unknown_keys

MOST_EXPOSED = 4.0
"""What a rendered unit may read at most in `systemd-analyze security`."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here"
)


def unit_of(case: str):
    return next((GOLDEN / case).glob("*.service"))


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    argv = ["systemd-analyze", "--no-pager", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("case", CASES)
def test_every_key_is_known_to_systemd_247(case):
    assert unknown_keys(unit_of(case).read_text()) == []


@needs_systemd
def test_systemd_takes_every_one():
    """The program of a release is not on this machine: that alone may be said."""
    for path in sorted({unit_of(case).read_text(): unit_of(case) for case in CASES}.values()):
        said = analyze("verify", str(path)).stderr.splitlines()
        ours = [line for line in said if path.name in line]
        assert [line for line in ours if "is not executable: No such file" not in line] == []


@needs_systemd
def test_a_unit_that_systemd_does_not_take_would_be_seen(tmp_path):
    broken = tmp_path / "broken.service"
    text = unit_of("thor-qwen3-8b-dflash").read_text()
    broken.write_text(text.replace("Type=oneshot", "Type=onceshot"))
    assert "broken.service" in analyze("verify", str(broken)).stderr


@needs_systemd
@pytest.mark.parametrize(
    "case", ["thor-qwen3-8b-dflash", "spark-gpt-oss-120b", "thor-native-qwen3-8b-eagle3"]
)
def test_little_is_exposed(case):
    said = analyze("security", "--offline=true", str(unit_of(case))).stdout
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d)", said)
    assert found is not None, said
    assert float(found.group(1)) <= MOST_EXPOSED
