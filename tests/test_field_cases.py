"""Field cases D-01..D-14 and I-01..I-07 end to end: what people ran into, and what we do.

One test per case, named after it, from the recorded board to the plan. The same cases for one
stage alone are in tests/plan; cases about pairs, depth, memory and Compose stand in
test_field_cases_plans.py.
"""

import pytest

from tests.field_boards import (
    R36,
    UPSTREAM,
    Field,
    all_text,
    codes,
    field,
    known,
    named,
    recorded,
)

__all__ = ["field"]

SERVE = ("vllm", "serve")


def serves_with(field: Field, name: str, image: str, model: str = "qwen3-8b") -> None:
    """vLLM on this board is that image, pinned, started as `vllm serve /models/target`."""
    plan = field.plan(recorded(name), model, engine="vllm")
    assert plan.choice.image.id == image
    assert "@sha256:" in plan.image_reference
    service = field.service(plan)
    assert tuple(service["entrypoint"]) == SERVE
    assert service["command"][0] == "/models/target"
    assert service["image"] == plan.image_reference


def test_d_01_thor_on_38_2(field):
    device = field.device(recorded("d-01"))
    assert known(device) == ("thor", "38.2.0", "7.0")
    assert (device.id, device.soc.compute_capability) == ("agx-thor-t5000", "11.0")
    assert device.memory_mib == 128790528 // 1024
    assert device.findings == ()
    serves_with(field, "d-01", UPSTREAM)


def test_d_02_jetpack_is_not_missing(field):
    device = field.device(recorded("d-02"))
    assert known(device) == ("agx-orin", "36.4.4", "6.2.1")
    assert (device.soc.id, device.soc.compute_capability) == ("tegra234", "8.7")
    serves_with(field, "d-02", R36)


def test_d_03_two_skus_without_a_brand_word(field):
    device = field.refused_board(recorded("d-03"))
    assert known(device) == ("orin-nano", "35.3.1", "5.1.1")
    assert device.id == "orin-nano-8gb"
    assert "JetPack 6.1" in field.refused(recorded("d-03"), method="eagle3").hint


def test_d_04_nx_of_8_gb(field):
    device = field.device(recorded("d-04"))
    assert known(device) == ("orin-nx", "36.4.3", "6.2")
    assert device.id == "orin-nx-8gb"
    rejected = field.plan(recorded("d-04"), "gemma-4-e2b").choice.image.id
    assert rejected == "llamacpp-iot-r36"  # 8 GB: vLLM only when asked for
    assert field.refused(recorded("d-04"), "gemma-4-e2b", method="draft_model").status == 7


def test_d_05_nano_with_800_mb_available(field):
    device = field.device(recorded("d-05"))
    assert known(device) == ("orin-nano", "36.4.7", "6.2.1")
    assert (device.memory_mib, device.available_mib) == (7620, 768)
    assert "nvmap_36_4_7" in {finding.code for finding in device.findings}
    for engine in ("auto", "vllm"):
        error = field.refused(recorded("d-05"), engine=engine)
        assert error.status == 6
        assert "2048" in all_text(error)


def test_d_06_the_first_nano(field):
    device = field.refused_board(recorded("d-06"))
    assert known(device) == ("nano", "32.7.6", "4.6.6")
    for engine in ("vllm", "llama.cpp"):
        assert field.refused(recorded("d-06"), engine=engine).status == 4


@pytest.mark.parametrize("name", ["d-07", "d-07-64gb"])
def test_d_07_orin_on_r39_is_no_thor(field, name):
    device = field.device(recorded(name))
    assert known(device) == ("agx-orin", "39.2.0", "7.2")
    assert "sku_sources_differ" in {finding.code for finding in device.findings}
    assert device.memory_mib == {"d-07": 30697, "d-07-64gb": 62841}[name]
    serves_with(field, name, UPSTREAM)


def test_d_08_spark_without_gpu_memory_figures(field):
    device = field.device(recorded("d-08"))
    assert known(device) == ("dgx-spark", None, None)
    assert device.memory_mib == 127600748 // 1024
    assert device.soc.compute_capability == "12.1"
    serves_with(field, "d-08", UPSTREAM)
    service = field.service(field.plan(recorded("d-08")))
    assert "network_mode" not in service
    assert service["ports"] == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize(("name", "family"), [("d-09-thor", "thor"), ("d-09-spark", "dgx-spark")])
def test_d_09_unified_memory_by_gpu_name(field, name, family):
    device = field.device(recorded(name))
    assert device.family == family
    assert device.l4t is None
    serves_with(field, name, UPSTREAM)


@pytest.mark.parametrize("name", ["d-09-orin", "d-09-orin-8gb"])
def test_d_09_orin_alone_says_not_which(field, name):
    error = field.refused(recorded(name))
    assert (error.status, error.code) == (4, "board_ambiguous")
    assert "compatible" in error.hint


def test_d_09_memory_that_only_one_orin_has(field):
    assert field.device(recorded("d-09-orin-64gb")).id == "agx-orin-64gb"


def test_d_10_separators_lost(field):
    device = field.device(recorded("d-10"))
    assert (device.id, device.family) == ("agx-orin-64gb", "agx-orin")
    serves_with(field, "d-10", R36)


def test_d_11_super_is_a_power_profile(field):
    device = field.device(recorded("d-11"))
    assert known(device) == ("orin-nx", "36.4.3", "6.2")
    assert device.id == "orin-nx-8gb"
    error = field.refused(recorded("d-11"), "gemma-4-e2b", method="draft_model")
    assert (error.status, error.code) == (7, "no_drafts_on_board")


def test_d_12_no_brand_word_at_all(field):
    device = field.refused_board(recorded("d-12"))
    assert known(device) == ("agx-orin", "35.3.1", "5.1.1")
    assert device.id == "agx-orin-32gb"


@pytest.mark.parametrize(
    ("l4t", "jetpack", "outcome"),
    [
        ("36.4.0", "6.1", R36),
        ("36.4.3", "6.2", R36),
        ("36.3.0", "6.0", 5),
        ("35.1.0", "5.0.2", 4),
        ("35.3.1", "5.1.1", 4),
        ("34.1.1", "5.0.1 DP", 4),
        ("32.7.1", "4.6.1", 4),
    ],
)
def test_d_13_release_lines(field, l4t, jetpack, outcome):
    board = recorded(f"d-13-{l4t}")
    device = field.refused_board(board) if outcome == 4 else field.device(board)
    assert (device.l4t, device.jetpack) == (l4t, jetpack)
    if outcome == 5:
        error = field.refused(board)
        assert error.status == 5
        assert "JetPack 6.1" in error.hint
    if outcome == R36:
        assert field.plan(board, "gemma-4-e2b").choice.image.id.endswith("-iot-r36")


def test_d_14_xavier_on_a_carrier_of_orin(field):
    device = field.refused_board(recorded("d-14"))
    assert (device.family, device.id, device.soc.id) == ("xavier", "xavier-nx", "tegra194")


@pytest.mark.parametrize("tag", ["cosmos3", "v0.27.1", "latest", "v0.27.1-cu130", "nightly"])
def test_i_01_no_upstream_tag_on_r36(field, tag):
    serves_with(field, "i-01", R36)
    error = field.refused(recorded("i-01"), image=f"vllm/vllm-openai:{tag}")
    assert error.status == 5
    assert "r39" in all_text(error)
    assert "JetPack 7.2" in all_text(error)


@pytest.mark.parametrize(
    "reference",
    [
        "dustynv/vllm:r36.4.0",
        "dustynv/vllm:0.6.3-r36.4.0",
        "dustynv/l4t-text:r35.3.1",
        "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin",
        "ghcr.io/nvidia-ai-iot/vllm:0.19.0-r36.4.tegra-aarch64-cu126-22.04",
        "nvcr.io/nvidia/pytorch:25.01-py3-igpu",
        "example.org/vllm:0.20-cu126",
        "example.org/vllm:0.20-cu129",
    ],
)
def test_i_02_no_orin_image_on_thor(field, reference):
    for name in ("i-02", "i-02-no-release"):
        assert field.refused(recorded(name), image=reference).status == 5


def test_i_02_a_missing_release_file_is_unknown_not_newest(field):
    device = field.device(recorded("i-02-no-release"))
    assert known(device) == ("thor", None, None)
    assert "l4t_unknown" in {finding.code for finding in device.findings}
    serves_with(field, "i-02-no-release", UPSTREAM)


@pytest.mark.parametrize(
    "tag", ["v0.19.0-cu130", "gemma4", "v0.19.2rc1", "v0.9.2", "v0.9", "v0.20.0rc1"]
)
def test_i_03_too_old_for_thor(field, tag):
    error = field.refused(recorded("i-02"), image=f"vllm/vllm-openai:{tag}")
    assert error.status == 5


@pytest.mark.parametrize("tag", ["v0.20.0", "v0.27.1", "v0.31.0"])
def test_i_03_new_enough_for_thor(field, tag):
    plan = field.plan(recorded("i-02"), image=f"vllm/vllm-openai:{tag}")
    assert plan.choice.build.version == tag.removeprefix("v")


def test_i_04_vllm_serve_stands_once_for_both_images(field):
    """The contract is above the case here: `vllm serve` is the entrypoint of both."""
    for board in (recorded("i-01"), recorded("i-02")):
        service = field.service(field.plan(board, engine="vllm"))
        words = [*service["entrypoint"], *service["command"]]
        assert words[:3] == ["vllm", "serve", "/models/target"]
        assert words.count("serve") == words.count("vllm") == 1


@pytest.mark.parametrize("name", ["d-01", "d-02", "d-07", "d-08", "i-06", "generic-x86-64"])
def test_i_05_what_is_chosen_is_pinned(field, name):
    model = "smollm2-135m"
    plan = field.plan(recorded(name), model)
    assert "latest" not in plan.image_reference
    assert not plan.choice.build.floating
    assert "floating_tag" not in codes(plan)
    assert plan.choice.build.version in plan.image_reference or "@sha256:" in plan.image_reference


def test_i_05_a_floating_tag_of_unknown_content_is_refused(field):
    """With a version that somebody read it is a warning: tests/plan/test_image_request.py."""
    board = named("agx-orin-64gb", "36.4.3")
    for tag in ("latest-jetson-orin", "gemma4-jetson-orin"):
        reference = f"ghcr.io/nvidia-ai-iot/vllm:{tag}"
        assert field.refused(board, "gemma-4-e2b", image=reference).status == 5


def test_i_06_retired_path_and_foreign_architecture(field):
    retired = "ghcr.io/ggerganov/llama.cpp:server"
    error = field.refused(recorded("i-06"), "gemma-4-e2b", image=retired)
    assert error.status == 5
    assert "ghcr.io/ggml-org/llama.cpp:server" in error.hint
    for reference in ("ghcr.io/ggml-org/llama.cpp:server-cuda", "speccompose/llamacpp-cpu:x"):
        error = field.refused(recorded("i-06"), "gemma-4-e2b", image=reference)
        assert error.status == 5
        assert reference in all_text(error)


@pytest.mark.parametrize(
    ("board", "outcome"),
    [
        (recorded("d-03"), 4),
        (recorded("d-13-36.4.0"), "llamacpp-iot-r36"),
        (recorded("agx-orin-64-r36.4.3"), R36),
        (recorded("r37"), 4),
        (recorded("r38-on-orin"), 4),
        (recorded("r36-on-thor"), 4),
        (recorded("thor-t5000-r38.4"), UPSTREAM),
        (recorded("thor-t5000-r39.2.1"), UPSTREAM),
        (recorded("agx-orin-64-r39.2.1"), UPSTREAM),
        (recorded("r40.0.0"), UPSTREAM),
    ],
    ids=lambda value: value.facts.origin if hasattr(value, "facts") else str(value),
)
def test_i_07_one_decision_per_release(field, board, outcome):
    if outcome == 4:
        assert field.refused(board).status == 4
        return
    plan = field.plan(board)
    assert plan.choice.image.id == outcome
    about_release = [item for item in plan.findings if item.code.startswith("l4t_")]
    assert len(about_release) == (plan.device.l4t == "40.0.0")


def test_i_07_nano_on_r39_is_supported_without_a_warning(field):
    plan = field.plan(recorded("i-07-nano-r39"), "gemma-4-e2b")
    assert plan.choice.image.id == "llamacpp-iot-cu13"
    assert plan.gpu_runtime == "nvidia"
    assert not [item for item in plan.findings if "JetPack" in item.message]
