"""`plan` and `render` from the outside: the contract's object, refusals, nothing left behind."""

import json
import re

import msgspec
import pytest

from speccompose.report.fits_text import fits_text
from speccompose.vocab.document import PlanDocument
from tests.cli.harness import ORIN_R36, THOR, assert_refusal_shape, facts

CONTRACT_KEYS = [
    *("device", "image", "model", "speculation", "memory", "entrypoint", "command"),
    *("environment", "port", "bind", "health", "acceptance", "findings", "digest"),
]
CONTRACT_PARTS = {
    "device": [
        *("id", "family", "name", "soc", "compute_capability", "l4t", "jetpack", "memory_mib"),
        *("memory_available_mib", "evidence"),
    ],
    "image": ["id", "reference", "engine", "engine_version", "digest", "rejected"],
    "model": ["id", "repo", "format", "weights_mib"],
    "speculation": ["method", "depth", "draft", "reason", "predicted_speedup"],
    "memory": [
        *("total_mib", "available_mib", "os_reserve_mib", "weights_mib", "draft_mib"),
        *("kv_cache_mib", "runtime_mib", "shm_mib", "headroom_mib", "gpu_memory_utilization"),
        *("context_tokens", "concurrency", "sequences"),
    ],
    "health": ["start_deadline_s"],
}
ORIN_TAG = "ghcr.io/nvidia-ai-iot/vllm:latest-jetson-orin"
MALFORMED = "facts: 1\nfiles:\n  /etc/nv_tegra_release: [1\n"
QWEN = ("--model", "qwen3-8b")

REFUSALS = {
    "unknown device id": (("--device", "agx-thor", *QWEN), 2, "names no device"),
    "unknown board": ((*facts("next-soc"), *QWEN), 4, "board"),
    "unsupported board": ((*facts("d-06"), *QWEN), 4, "Jetson Nano"),
    "R35": (("--device", "agx-orin-64gb", "--l4t", "35.3.1", *QWEN), 4, "35.3.1"),
    "R35 read": ((*facts("d-03"), *QWEN), 4, "35.3.1"),
    "R32": ((*facts("d-13-32.7.1"), *QWEN), 4, "Xavier"),
    "R36 on Thor": ((*facts("r36-on-thor"), *QWEN), 4, "L4T 36"),
    "R37": ((*facts("r37"), *QWEN), 4, "37"),
    "R38 on Orin": ((*facts("r38-on-orin"), *QWEN), 4, "38"),
    "R36.3": (("--device", "agx-orin-64gb", "--l4t", "36.3.0", *QWEN), 5, "no image fits"),
    "Orin tag on Thor": ((*THOR, *QWEN, "--image", ORIN_TAG), 5, "jetson-orin"),
    "unknown image": ((*THOR, *QWEN, "--image", "foo"), 5, "does not know"),
    "image too old": ((*THOR, *QWEN, "--image", "vllm/vllm-openai:v0.9.0"), 5, "0.20"),
    "unknown model": ((*THOR, "--model", "qwen3-9b"), 2, "near: "),
    "method the image lacks": ((*ORIN_R36, *QWEN, "--method", "dflash"), 7, "does not offer"),
    "too big": (("--device", "orin-nano-8gb", *QWEN), 6, "does not fit"),
    "two boards": ((*THOR, "--root", "/", *QWEN), 2, "exclude each other"),
    "three boards": ((*THOR, "--root", "/", "--facts", "x", *QWEN), 2, "exclude each other"),
    "l4t without device": (("--l4t", "36.4.3", *QWEN), 2, "--l4t"),
    "assume with device": ((*THOR, "--assume-l4t", "38.4.0", *QWEN), 2, "--assume-l4t"),
    "wide bind": ((*THOR, *QWEN, "--bind", "0.0.0.0"), 2, "without a key"),
    "bad bind": ((*THOR, *QWEN, "--bind", "localhost"), 2, "not an IP address"),
    "unknown flag": ((*THOR, *QWEN, "--set", "nonsense=1"), 5, "--nonsense"),
    "owned flag": ((*THOR, *QWEN, "--set", "max-model-len=1"), 2, "the plan sets it"),
    "empty flag": ((*THOR, *QWEN, "--set", "=1"), 2, "FLAG=VALUE"),
    "bad name": ((*THOR, *QWEN, "--name", "Ünï"), 2, "cannot name a stack"),
    "bad depth": ((*THOR, *QWEN, "--depth", "0"), 2, "depth"),
    "bad share": (
        (*THOR, *QWEN, "--gpu-memory-utilization", "1.5"),
        2,
        "utilization 1.5 is out",
    ),
    "bad port": ((*THOR, *QWEN, "--port", "70000"), 2, "port"),
    "depth without method": ((*THOR, *QWEN, "--method", "none", "--depth", "3"), 2, "--depth"),
    "draft without method": ((*THOR, *QWEN, "--method", "ngram", "--draft", "a/b"), 2, "--draft"),
    "native on Orin": (
        ("--device", "agx-orin-64gb", *QWEN, "--runtime", "native"),
        5,
        "--runtime native is for Thor",
    ),
    "native and an image": (
        (*THOR, *QWEN, "--runtime", "native", "--image", "vllm-upstream"),
        2,
        "--image vllm-upstream is a container's",
    ),
    "native llama.cpp": (
        (*THOR, *QWEN, "--runtime", "native", "--engine", "llama.cpp"),
        2,
        "runs in its container only",
    ),
    "unreadable root": (("--root", "/nowhere", *QWEN), 3, "/nowhere"),
    "unreadable facts": (("--facts", "/nowhere.yaml", *QWEN), 3, "/nowhere.yaml"),
}


@pytest.mark.parametrize("verb", ["plan", "render"])
@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(cli, verb, case):
    """The message on standard error, the object on standard output, nothing on disk."""
    argv, status, said = REFUSALS[case]
    more = ("-o", "stack") if verb == "render" else ()
    answer = cli(verb, *argv, *more, "--json")
    assert answer.status == status, answer.err
    assert_refusal_shape(answer.err)
    assert said in answer.err
    assert [item["severity"] for item in answer.json["findings"]][-1] == "error"
    assert list(answer.json)[: len(CONTRACT_KEYS)] == CONTRACT_KEYS
    assert answer.json["digest"] is None
    msgspec.json.decode(answer.out, type=PlanDocument)
    assert cli.written() == []


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal_says_what_to_do(cli, case):
    answer = cli("plan", *REFUSALS[case][0])
    assert answer.out == ""
    assert REFUSALS[case][1] == 3 or "\n  hint: " in answer.err


def test_a_board_that_is_no_jetson_is_the_development_target(cli):
    argv = ("--model", "smollm2-135m", "--json")
    assert cli("plan", *facts("raspberry-pi-5"), *argv).json["device"]["id"] == "generic-arm64"


def test_malformed_facts_name_the_line(cli):
    (cli.here / "bad.yaml").write_text(MALFORMED)
    answer = cli("plan", "--facts", "bad.yaml", *QWEN, "--json")
    assert answer.status == 3
    assert re.search(r"bad\.yaml:\d+:\d+", answer.err)
    assert_refusal_shape(answer.err)
    (finding,) = answer.json["findings"]
    assert re.search(r"bad\.yaml:\d+:\d+", finding["message"])


def test_facts_that_are_no_text_are_unreadable(cli):
    (cli.here / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    answer = cli("plan", "--facts", "bad.yaml", *QWEN)
    assert answer.status == 3
    assert "not UTF-8" in answer.err


def own_model(cli, data_root, old: str, new: str) -> None:
    """An overlay: the shipped qwen3-8b with one change."""
    folder = cli.here / "profiles" / "models"
    folder.mkdir(parents=True)
    text = (data_root / "profiles" / "models" / "qwen3-8b.yaml").read_text()
    assert old in text
    (folder / "qwen3-8b.yaml").write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("depth", ["8", "15"])
def test_too_deep_gives_the_valid_depths(cli, data_root, depth):
    """A block size that was seen is a limit; from second hand it is a warning."""
    argv = ("plan", *THOR, *QWEN, "--method", "dflash", "--depth", depth)
    warned = cli(*argv, "--json")
    assert warned.status == 0
    assert warned.json["speculation"]["depth"] == int(depth)
    assert "warning" in {item["severity"] for item in warned.json["findings"]}
    own_model(
        cli,
        data_root,
        "block_size: 8\n    block_evidence: secondhand",
        "block_size: 8\n    block_evidence: seen",
    )
    answer = cli(*argv, "--json")
    assert answer.status == 7
    assert_refusal_shape(answer.err)
    assert "1 to 7" in answer.err
    assert cli(*argv[:-1], "7").status == 0


def test_too_big_tells_both_numbers_and_the_ladder(cli):
    text = cli("plan", *REFUSALS["too big"][0]).err
    assert re.search(r"needs\s+\d+ MiB, there\s+are \d+ MiB", text)
    rungs = ["context down", "sequences down", "smaller draft or none", "smaller quantisation"]
    places = [text.index(rung) for rung in rungs]
    assert places == sorted(places)


def test_a_refusal_tells_the_board_that_it_is_about(cli):
    device = cli("plan", *facts("d-03"), *QWEN, "--json").json["device"]
    assert (device["family"], device["l4t"], device["jetpack"]) == ("orin-nano", "35.3.1", "5.1.1")


def test_a_refused_image_tells_every_other_one(cli, catalog):
    argv = ("--device", "agx-orin-64gb", "--l4t", "36.3.0", *QWEN, "--json")
    rejected = cli("plan", *argv).json["image"]["rejected"]
    assert {item["id"] for item in rejected} == set(catalog.images)
    assert all(item["reason"] for item in rejected)


@pytest.mark.parametrize(
    "argv",
    [
        (*THOR, *QWEN),
        (*ORIN_R36, *QWEN),
        ("--device", "orin-nano-8gb", "--model", "gemma-4-e2b"),
        ("--device", "dgx-spark", *QWEN, "--method", "none"),
        (*facts("generic-x86-64"), "--model", "smollm2-135m"),
    ],
    ids=lambda argv: argv[1].rpartition("/")[2],
)
def test_json_has_the_contracts_keys_in_order(cli, argv):
    answer = cli("plan", *argv, "--json")
    assert answer.status == 0, answer.err
    document = answer.json
    assert list(document)[: len(CONTRACT_KEYS)] == CONTRACT_KEYS
    for part, keys in CONTRACT_PARTS.items():
        assert list(document[part])[: len(keys)] == keys, part
    for finding in document["findings"]:
        assert list(finding) == ["severity", "code", "message", "hint", "source"]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", document["digest"])
    assert all(isinstance(v, int) for k, v in document["memory"].items() if k.endswith("_mib"))
    command, entrypoint = document["command"], document["entrypoint"]
    assert command[: len(entrypoint)] != entrypoint
    assert answer.err == ""
    msgspec.json.decode(answer.out, type=PlanDocument)


@pytest.mark.parametrize("explain", [(), ("--explain",)])
def test_the_page_fits_80_columns(cli, explain):
    text = cli("plan", *THOR, *QWEN, *explain).out
    assert [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 2] == []


def test_explain_adds_rules_and_rejected_images(cli):
    short, long = cli("plan", *THOR, *QWEN).out, cli("plan", *THOR, *QWEN, "--explain").out
    assert "rule:" not in short
    assert "rule:" in long
    assert "images not taken" in long


def test_without_model_it_prints_what_fits(cli):
    answer = cli("plan", *THOR)
    assert answer.status == 2
    assert "\nfits\n" in answer.out
    assert "qwen3-8b" in answer.out
    assert "--model" in answer.err
    listed = cli("catalog", "list", "--fits", *THOR)
    assert listed.out == answer.out


def test_without_model_scripts_get_the_refusal_object(cli):
    answer = cli("plan", *THOR, "--json")
    assert answer.status == 2
    assert answer.json["device"]["id"] == "agx-thor-t5000"
    assert answer.json["findings"][-1]["code"] == "no_model"
    assert "fits: qwen3-8b" in answer.err


def test_without_model_on_an_unsupported_board(cli):
    answer = cli("plan", *facts("d-06"), "--json")
    assert answer.status == 4
    assert answer.json["device"]["family"] == "nano"


def test_suggest_names_plans_that_do_fit(cli):
    argv = ("--device", "orin-nx-16gb", "--l4t", "36.4.7", *QWEN, "--engine", "vllm")
    plain, helped = cli("plan", *argv), cli("plan", *argv, "--suggest")
    assert plain.status == helped.status == 6
    assert helped.err.startswith(plain.err.rstrip("\n"))
    assert "--engine llama.cpp" in helped.err.removeprefix(plain.err.rstrip("\n"))
    assert fits_text(None, ()) not in helped.err
    assert cli("plan", *argv, "--suggest", "--json").json["findings"][-1]["severity"] == "error"


def test_render_writes_the_stack_and_plan_writes_nothing(cli):
    assert cli("plan", *THOR, *QWEN).status == 0
    assert cli.written() == []
    assert cli("render", *THOR, *QWEN, "-o", "out/stack").status == 0
    names = {path.name for path in (cli.here / "out" / "stack").iterdir()}
    assert names == {
        *("compose.yaml", "speccompose.env", "qwen3-8b.service", "plan.json"),
        *("acceptance.json", "check", "SHA256SUMS"),
    }
    assert {path.name for path in (cli.here / "out").iterdir()} == {"stack"}


def test_render_prints_the_plan_that_it_wrote(cli):
    printed = cli("render", *THOR, *QWEN, "-o", "stack", "--json").json
    assert json.loads((cli.here / "stack" / "plan.json").read_text()) == printed


def test_render_twice_gives_the_same_bytes(cli):
    cli("render", *THOR, *QWEN, "-o", "stack")
    first = {path.name: path.read_bytes() for path in (cli.here / "stack").iterdir()}
    assert cli("render", *THOR, *QWEN, "-o", "stack").status == 0
    assert {path.name: path.read_bytes() for path in (cli.here / "stack").iterdir()} == first


def test_render_leaves_a_folder_that_holds_something_else(cli):
    (cli.here / "stack").mkdir()
    (cli.here / "stack" / "mine").write_text("kept")
    answer = cli("render", *THOR, *QWEN, "-o", "stack", "--json")
    assert answer.status == 2
    assert answer.json["findings"][-1]["code"] == "output_not_empty"
    assert cli.written() == ["stack", "stack/mine"]


def test_render_needs_a_model(cli):
    answer = cli("render", *THOR, "-o", "stack")
    assert answer.status == 2
    assert_refusal_shape(answer.err)
    assert cli.written() == []


def test_a_file_of_the_users_own_is_shown_in_the_plan(cli, data_root):
    own_model(cli, data_root, "name: Qwen3 8B", "name: My Qwen")
    document = cli("plan", *THOR, *QWEN, "--json").json
    assert any("qwen3-8b" in overlay for overlay in document["overlays"])


SECRET = "sk-planted-8f3b2c"


@pytest.mark.parametrize("model", ["nvidia/Qwen3-8B-NVFP4", "unsloth/Qwen3.8-27B-GGUF:Q4_K_M"])
def test_a_key_never_shows(cli, model):
    """Rules section 5: not in rendered files, argument lists, output or reports."""
    key = cli.here.parent / "key"
    key.write_text(SECRET + "\n")
    argv = (*THOR, "--model", model, "--bind", "0.0.0.0", "--api-key-file", str(key))
    said = [
        cli("plan", *argv),
        cli("plan", *argv, "--explain"),
        cli("plan", *argv, "--json"),
        cli("render", *argv, "-o", "stack"),
        cli("plan", *argv, "--gpu-memory-utilization", "0.99", "--engine", "vllm", "--json"),
    ]
    assert all(SECRET not in answer.out + answer.err for answer in said)
    files = [path for path in (cli.here / "stack").rglob("*") if path.is_file()]
    assert len(files) == 7
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
    assert "/secrets" in (cli.here / "stack" / "compose.yaml").read_text()


def test_render_into_the_folder_that_one_stands_in(cli):
    argv = ("render", *THOR, *QWEN, "-o")
    assert cli(*argv, "stack").status == 0
    cli.monkeypatch.chdir(cli.here / "stack")
    answer = cli(*argv, ".")
    assert answer.status == 0
    assert 'cd "$PWD" && speccompose pull .' in answer.out
    assert (cli.here / "stack" / "compose.yaml").is_file()
