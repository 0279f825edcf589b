"""The generated parts of the README and docs: written by `make docs`, checked by a test."""

import re
import sys
from pathlib import Path

from speccompose.catalog.load import load_catalog
from speccompose.errors import SpecComposeError
from speccompose.pipeline import identify_board
from speccompose.plan.placement import Placed, place_image
from speccompose.vocab.board import BoardSource
from speccompose.vocab.catalog import Catalog

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

STATUS_TEXTS = {
    0: "done (accept: accepted or marginal)",
    1: "a bug of ours",
    2: "usage: a bad option, an unknown model, a wide bind without a key",
    3: "facts, data or checkpoint unreadable or invalid",
    4: "board unknown or unsupported",
    5: "no image fits",
    6: "memory does not fit",
    7: "speculation refused: method, pair or depth",
    8: "deploy failed: previous stack restored, or nothing left running",
    9: "health failed, or acceptance rejected",
    10: "rollout halted and rolled back",
    11: "rollout paused; acceptance inconclusive or invalid",
    12: "locked by another operation",
    13: "done, with boards pending",
    14: "rollback incomplete",
    15: "preflight refused",
    16: "drift found",
    17: "lint errors",
    18: "a source cannot be reached",
    19: "signature or hash mismatch",
    130: "interrupted",
}


SEMANTICS = {
    1: "a sealed plan: one byte more is another rollout",
    2: "waves are a function of the plan; every board class is in the canary",
    3: "no command to a wave before the one before it was promoted",
    4: "a failure cuts nobody of its wave off",
    5: "promotion: enough done, few failed, baked, acceptance no worse than its verdict",
    6: "abort by count or by share, from the next start on",
    7: "bake: probed, not waited; its time survives the controller",
    8: "a board ends committed or rolled back, whatever cuts it short",
    9: "healthy is not accepted: one real answer, drafts seen in the counters",
    10: "without a confirmation the board goes back by itself",
    11: "rollback by the board, of the wave, of everything",
    12: "no way back, no start",
    13: "a first install goes back to nothing",
    14: "the same again restarts and writes nothing",
    15: "limits on boards that switch and on pulls per mirror",
    16: "off before its start is pending, no failure",
    17: "lost after its start is failed, until it tells otherwise",
    18: "late boards catch up with the last completed release",
    19: "killed anywhere, resumed, nobody started twice",
    20: "one operator per fleet, one rollout per board",
    21: "a trail that shows who, when, what, and any change to it",
    22: "pause, resume, abort, skip, Ctrl-C",
    23: "maintenance windows, and boards that ask to be left alone",
    24: "what a board lacks makes it ineligible before anything is staged",
    25: "drift is found, and repaired through the same gates",
    26: "a dry run changes nothing",
    27: "every phase has a deadline that acts",
    28: "an older release is refused",
    29: "every end has its status",
}
"""S1 to S29 in few words; what proves each is read from the tests' names: test_s07_..."""

SHOWN_TESTS = 2
NUMBERED = re.compile(r"^def test_((?:s\d\d_)+)(\w+)\(", re.MULTILINE)
GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
RELEASES = ("35.6.4", "36.3.0", "36.4.7", "36.5.0", "38.4.0", "39.2.1")


def generated(text: str, catalog: Catalog) -> str:
    """The text with every generated part written anew."""
    parts = {"boards": lambda: boards(catalog), "statuses": statuses, "semantics": semantics}
    return GENERATED.sub(lambda m: f"{m[1]}{parts[m[2]]()}\n{m[3]}", text)


def statuses() -> str:
    """The exit-status table."""
    rows = [f"| {number} | {text} |" for number, text in STATUS_TEXTS.items()]
    return "\n".join(["| status | meaning |", "|---|---|", *rows])


def semantics() -> str:
    """The table of S1 to S29 with what proves each of them."""
    found = numbered_tests()
    rows = []
    for number, text in SEMANTICS.items():
        names = found.get(number, [])
        more = f"; {len(names) - SHOWN_TESTS} more" if len(names) > SHOWN_TESTS else ""
        proved = "; ".join(name.replace("_", " ") for name in names[:SHOWN_TESTS])
        rows.append(f"| S{number} | {text} | {proved}{more} |")
    return "\n".join(["| | semantic | proved by |", "|---|---|---|", *rows])


def numbered_tests() -> dict[int, list[str]]:
    """Semantic -> the tests that bear its number, those of the decision first, the lab's last."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py"), key=_how_far_out):
        for numbers, name in NUMBERED.findall(path.read_text()):
            for number in numbers.split("_")[:-1]:
                found.setdefault(int(number[1:]), []).append(name)
    return found


def _how_far_out(path: Path) -> tuple[int, str]:
    order = ("fleet", "device", "cli", "tests", "docker", "lab")
    folder = path.parent.name
    return (order.index(folder) if folder in order else len(order), str(path))


def boards(catalog: Catalog) -> str:
    """Device x L4T: the images that are taken by themselves, or the refusal."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for device in catalog.devices.values():
        if not device.supported or device.memory is None:
            continue
        for l4t in RELEASES if device.soc.startswith("tegra") else (None,):
            row = (device.family, *cells(device.id, l4t, catalog))
            grouped.setdefault(row, []).append(l4t or "none")
    lines = ["| family | L4T | vLLM | llama.cpp |", "|---|---|---|---|"]
    for (family, vllm, llama), releases in grouped.items():
        listed = ", ".join(dict.fromkeys(releases))
        lines.append(f"| {family} | {listed} | {vllm} | {llama} |")
    return "\n".join(lines)


def cells(device_id: str, l4t: str | None, catalog: Catalog) -> tuple[str, str]:
    """The vLLM and the llama.cpp cell of one board and release."""
    try:
        device = identify_board(BoardSource(device=device_id, l4t=l4t), catalog)
    except SpecComposeError as error:
        return (f"refused ({int(error.status)})",) * 2
    found: dict[str, list[str]] = {"vllm": [], "llama.cpp": []}
    for image in sorted(catalog.images.values(), key=lambda image: image.rank):
        usable = any(build.automatic for build in image.builds)
        if usable and isinstance(place_image(device, image, catalog), Placed):
            found[image.engine].append(f"`{image.id}`")
    return tuple(", ".join(names) or "refused (5)" for names in found.values())


def main() -> None:
    """Write the generated parts anew."""
    catalog = load_catalog(ROOT, (), None)
    README.write_text(generated(README.read_text(), catalog))
    sys.stdout.write("README.md written\n")


if __name__ == "__main__":
    main()
