"""Power mode, clock limits and throttling, read from a copied root."""

from pathlib import Path

import pytest

from speccompose.device.conditions import changes, read_conditions


def board(root: Path, **changed: str) -> Path:
    files = {
        "var/lib/nvpmodel/status": "pmode:0000\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq": "2201600\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq": "729600\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "schedutil\n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": "1420800\n",
        "sys/class/hwmon/hwmon3/oc1_event_cnt": "0\n",
        "sys/class/hwmon/hwmon3/oc2_event_cnt": "2\n",
        "sys/class/hwmon/hwmon3/oc3_event_cnt": "813\n",
        "sys/class/thermal/cooling_device0/type": "pwm-fan\n",
        "sys/class/thermal/cooling_device0/cur_state": "3\n",
        "sys/class/thermal/cooling_device1/type": "devfreq-gpu-gpc-0\n",
        "sys/class/thermal/cooling_device1/cur_state": "18\n",
        "sys/class/thermal/cooling_device2/type": "gpu-throttle-alert\n",
        "sys/class/thermal/cooling_device2/cur_state": "0\n",
        "sys/class/thermal/thermal_zone0/temp": "48500\n",
        "sys/class/thermal/thermal_zone1/temp": "61250\n",
    }
    for path, text in {**files, **changed}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_what_a_jetson_tells(tmp_path):
    found = read_conditions(board(tmp_path))
    assert found.power_mode == "pmode:0000"
    assert dict(found.clocks)["policy0/scaling_max_freq"] == "2201600"
    assert found.hottest_c == 61.25
    assert found.cooling == ()
    assert found.as_dict()["throttle_events"]["hwmon3/oc3_event_cnt"] == 813


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("var/lib/nvpmodel/status", "pmode:0002\n", "power mode changed: pmode:0000 -> pmode:0002"),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
            "1510400\n",
            "clock limit changed: policy0/scaling_max_freq 2201600 -> 1510400",
        ),
        (
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "performance\n",
            "clock limit changed: policy0/scaling_governor schedutil -> performance",
        ),
        (
            "sys/class/hwmon/hwmon3/oc2_event_cnt",
            "5\n",
            "the board throttled: hwmon3/oc2_event_cnt 2 -> 5",
        ),
        (
            "sys/class/thermal/cooling_device2/cur_state",
            "1\n",
            "the board throttled: gpu-throttle-alert was raised",
        ),
    ],
)
def test_a_change_is_named(tmp_path, path, text, wanted):
    before = read_conditions(board(tmp_path))
    after = read_conditions(board(tmp_path, **{path: text}))
    assert changes([before, before, after]) == (wanted,)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "729600\n"),
        ("sys/class/hwmon/hwmon3/oc3_event_cnt", "990\n"),
        ("sys/class/thermal/cooling_device0/cur_state", "4\n"),
        ("sys/class/thermal/cooling_device1/cur_state", "40\n"),
        ("sys/class/thermal/thermal_zone0/temp", "71000\n"),
    ],
)
def test_what_moves_on_a_healthy_board_is_no_change(tmp_path, path, text):
    before = read_conditions(board(tmp_path))
    after = read_conditions(board(tmp_path, **{path: text}))
    assert changes([before, after]) == ()


def test_an_x86_machine_that_throttles(tmp_path):
    counter = "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
    before = read_conditions(board(tmp_path, **{counter: "4\n"}))
    after = read_conditions(board(tmp_path, **{counter: "9\n"}))
    assert changes([before, after]) == (
        "the board throttled: cpu0/thermal_throttle/package_throttle_count 4 -> 9",
    )


def test_a_machine_that_tells_nothing(tmp_path):
    found = read_conditions(tmp_path)
    assert found == (None, (), (), (), None)
    assert changes([found, found]) == ()
    assert changes([]) == ()
