"""`make demo-acceptance`: every kind of verdict on this machine, each with its page.

Accepted and rejected come from the real llama-server: a random target that mostly reads weights,
whose acceptance the engine is told (synthetic, and marked so), and SmolLM2 with a truncated draft,
which loses on a CPU. Marginal and inconclusive need speeds that no machine holds still for, so a
scripted server stands in, and is named as one. The verdict is always the product's own.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from speccompose.device import pull, transaction
from speccompose.device.accept import Trial, accept
from speccompose.device.accept_stack import Asked, accept_stack
from speccompose.device.acceptance_file import Rules
from speccompose.device.artifacts import Artifacts
from speccompose.device.dataset import builtin
from speccompose.device.hub import Hub
from speccompose.device.measured_stack import Prompts
from speccompose.device.paths import Roots
from speccompose.device.ports import Progress, real_ports
from speccompose.device.take_down import remove
from speccompose.device.window import Pace
from speccompose.report.acceptance_page import acceptance_page
from speccompose.report.verdict_text import verdict_text
from speccompose.world.kept_results import load_acceptance
from tests.device.test_accept import QUIET, StubArms, speculating
from tests.docker.stacks import SPECULATING, StackText, free_port, write_stack
from tests.docker.tiny_gguf import write_tiny_model
from tests.stub_server import Script

OUT = Path(os.environ.get("DEMO_OUT") or ".demo/acceptance")
ROOM = ("-c", "4096", "-np", "1")
SYNTHETIC = ("--spec-draft-n-max", "4", "--spec-synth-len", "3.8")
RULES = Rules((1, 8), 3, 12, 48, 30.0, -20.0, 10.0, 0.97, 1.05)
SHORT = [f"Name {what}." for what in ("a river", "a tree", "a bird", "a town", "a tool", "a hill")]
"""Reading a prompt is work for the CPU, which drafts do not spare; writing is what is shown."""
PACE = Pace(prompts=4, prompts_per_client=1, output_tokens=48, check_prompts=2, check_tokens=8)


def say(progress: Progress) -> None:
    sys.stderr.write(f"  {progress.step}: {progress.message}\n")


def head(text: str) -> None:
    sys.stdout.write(f"\n\033[1m== {text}\033[0m\n")
    sys.stdout.flush()


def shown(kind: str, folder: Path) -> str:
    """Write the page of a kept result; returns its outcome."""
    result = load_acceptance(folder)
    OUT.mkdir(parents=True, exist_ok=True)
    page = OUT / f"{kind}.html"
    page.write_text(acceptance_page(result))
    shutil.copy(folder / "result.json", OUT / f"{kind}.json")
    sys.stdout.write(f"\n  page: {page}\n")
    return result.outcome


def real_and_told(scratch: Path) -> str:
    """A memory-bound target on the real engine, which is told to accept 3.8 tokens a pass."""
    roots = Roots(scratch / "state", scratch / "secrets")
    models = {"target": scratch / "target.gguf", "draft": scratch / "draft.gguf"}
    write_tiny_model(models["target"], layers=6, seed=1, widen=16)
    write_tiny_model(models["draft"], layers=1, seed=2)
    text = StackText(
        name="demo-accepted",
        port=free_port(),
        models=roots.models,
        secrets=roots.secrets,
        extra=(*SPECULATING, *SYNTHETIC, *ROOM),
        deadline_s=240,
    )
    folder = write_stack(scratch / "stack", text)
    baseline = [w for w in text.command if w not in (*SPECULATING, *SYNTHETIC[::2])]
    baseline = [word for word in baseline if word not in SYNTHETIC]
    prompts = scratch / "short.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in SHORT))
    asked = Asked(prompts=Prompts(file=prompts, requests=12))
    most = RULES._replace(max_repeats=5)
    body = {**most._asdict(), "speculation_expected": True, "synthetic": True}
    rules = json.dumps({**body, "baseline_command": baseline})
    (folder / "acceptance.json").write_text(rules)
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(rules.encode()).hexdigest()}  acceptance.json\n")
    ports = real_ports()
    sources = pull.Sources(
        Hub("http://127.0.0.1:9"),
        provide_bundled=lambda item, place: shutil.copy(models[item.role], place / str(item.file)),
    )
    pull.pull_stack(folder, roots, ports=ports, sources=sources, say=say)
    transaction.deploy(folder, roots, ports=ports, say=say)
    try:
        done = accept_stack(text.name, roots, ports=ports, asked=asked, say=say)
        sys.stdout.write(verdict_text(text.name, done, None) + "\n")
        kept = sorted((roots.stacks / text.name / "accept").iterdir())[-1]
        return shown("accepted", kept)
    finally:
        remove(text.name, roots, ports=ports)


def real_and_losing(scratch: Path) -> str:
    """SmolLM2 with a draft cut out of itself: the whole product, from plan to redeploy."""
    environment = {
        **os.environ,
        "SPECCOMPOSE_STATE": str(scratch / "state"),
        "SPECCOMPOSE_SECRETS": str(scratch / "secrets"),
    }

    def run(*words: str) -> int:
        sys.stdout.write(f"$ speccompose {' '.join(words)}\n")
        sys.stdout.flush()
        argv = [sys.executable, "-m", "speccompose", *words]
        return subprocess.run(argv, env=environment, check=False).returncode

    name, port = "demo-rejected", str(free_port())
    words = ("--model", "smollm2-135m", "--method", "draft_model", "--name", name, "--port", port)
    if run("deploy", *words) != 0:
        raise SystemExit("the demo model does not come up")
    try:
        run("accept", name, "--yes", "--quick")
        kept = sorted((scratch / "state" / "stacks" / name / "accept").iterdir())[-1]
        return shown("rejected", kept)
    finally:
        run("remove", name)


def scripted(kind: str, scratch: Path, baseline: Script, speculative: Script) -> str:
    """Two scripted servers, real load, real verdict."""
    folder = scratch / kind
    done = accept(
        Trial(RULES, PACE, builtin(), kind),
        StubArms(baseline, speculative),
        artifacts=Artifacts(folder),
        say=say,
        conditions=lambda: QUIET,
    )
    sys.stdout.write(verdict_text(f"{kind} (scripted server)", done, None) + "\n")
    return shown(kind, folder)


def marginal(scratch: Path) -> str:
    base = Script(rates={1: 200.0, 8: 800.0})
    return scripted("marginal", scratch, base, speculating_from(base, 1.2, 1.1))


def inconclusive(scratch: Path) -> str:
    base = Script(rates={1: 200.0, 8: 800.0}, noise=0.25, wave=4)
    return scripted("inconclusive", scratch, base, speculating_from(base, 1.3, 1.0, seed=2))


def speculating_from(base: Script, alone: float, loaded: float, **more: object) -> Script:
    """So many times as fast as the baseline, alone and under load."""
    rates = {1: base.rates[1] * alone, 8: base.rates[8] * loaded}
    return speculating(1, 1, rates=rates, noise=base.noise, wave=base.wave, **more)


DEMOS = (
    ("accepted: the real engine, told what to accept (synthetic)", "accepted", real_and_told),
    ("rejected: the real engine with a real draft on a CPU", "rejected", real_and_losing),
    ("marginal: a scripted server", "marginal", marginal),
    ("inconclusive: a scripted server that does not hold its speed", "inconclusive", inconclusive),
)


def main() -> int:
    """Run all of them; says which verdict came out beside the one that was to be shown."""
    rows = []
    for title, wanted, demo in DEMOS:
        head(title)
        with tempfile.TemporaryDirectory(prefix="speccompose-demo-") as scratch:
            rows.append((wanted, demo(Path(scratch))))
    head("what came out")
    for wanted, found in rows:
        sys.stdout.write(f"  {wanted:<14} {found}\n")
    sys.stdout.write(f"\n  pages: {OUT}/*.html\n")
    return 0 if all(wanted == found for wanted, found in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
