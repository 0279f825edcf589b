import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompose.plan.board_refusal import refusal_of, refuse

ORIN = ("agx-orin-64gb", "orin-nx-16gb", "orin-nano-8gb", "agx-orin-industrial")
THOR = ("agx-thor-t5000", "agx-thor-t4000")


@pytest.mark.parametrize("device", ORIN)
@pytest.mark.parametrize(
    "l4t", ["36.0.0", "36.3.0", "36.4.3", "36.4.99", "39.0.0", "39.2.1", "40.1.0"]
)
def test_orin_releases(catalog, device, l4t):
    assert refusal_of(catalog.devices[device], l4t, catalog) is None


@pytest.mark.parametrize("device", THOR)
@pytest.mark.parametrize("l4t", [None, "38.0.0", "38.2.0", "38.4.0", "39.2.0", "41.0.0"])
def test_thor_releases(catalog, device, l4t):
    assert refusal_of(catalog.devices[device], l4t, catalog) is None


@pytest.mark.parametrize(
    ("device", "l4t", "code"),
    [
        *((device, None, "l4t_unknown") for device in ORIN),
        *(
            (device, f"{major}.1.0", "l4t_too_old")
            for device in ORIN
            for major in (28, 32, 33, 34, 35)
        ),
        *((device, "37.0.0", "l4t_nonexistent") for device in (*ORIN, *THOR)),
        *((device, "38.4.0", "l4t_contradiction") for device in ORIN),
        *((device, "36.4.3", "l4t_contradiction") for device in THOR),
        *((device, "35.1.0", "l4t_too_old") for device in THOR),
        ("dgx-spark", "39.2.0", "l4t_contradiction"),
        ("generic-arm64", "36.4.3", "l4t_contradiction"),
        ("agx-xavier", "36.4.3", "board_unsupported"),
        ("xavier-nx", "35.1.0", "board_unsupported"),
        ("jetson-nano", None, "board_unsupported"),
        ("jetson-tx2", "32.7.1", "board_unsupported"),
    ],
)
def test_refusals_say_what_to_do(catalog, device, l4t, code):
    refusal = refusal_of(catalog.devices[device], l4t, catalog)
    assert refusal is not None
    assert refusal.code == code
    assert refusal.hint
    error = refuse(refusal)
    assert (int(error.status), error.code, error.device) == (4, code, None)


@given(major=st.integers(0, 60), minor=st.integers(0, 12), patch=st.integers(0, 12))
def test_a_family_never_runs_a_release_of_another(catalog, major, minor, patch):
    l4t = f"{major}.{minor}.{patch}"
    for device in (*ORIN, *THOR):
        profile = catalog.devices[device]
        rows = [row for row in catalog.releases if row.l4t.startswith(f"{major}.")]
        runs = major >= 36 and any(profile.family in row.families for row in rows)
        newer = major > 39
        assert (refusal_of(profile, l4t, catalog) is None) == (runs or newer)
