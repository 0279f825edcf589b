"""`make lab` and `make lab-down`: fake boards to try things on.

python -m tests.lab up [N]     start N boards (6), print how to reach them, leave them running
python -m tests.lab down       remove them, and what dead test runs left behind
"""

import sys
import time
from pathlib import Path

from tests.lab import outer
from tests.lab.lab import Lab, reap
from tests.lab.nodes import NodeSpec
from tests.lab.operator import HUB_URL
from tests.lab.overlay import MODEL
from tests.lab.workplace import remove_secrets, write_fleet

NAME = "lab"
FOLDER = Path(__file__).resolve().parent.parent.parent / ".lab"
ORDER = (
    ("nano", "orin-nano-8gb-r36"),
    ("agx", "agx-orin-64gb-r39"),
    ("pc", "generic-x86-64"),
    ("nx", "orin-nx-16gb-r36"),
    ("thor", "agx-thor-r38"),
    ("nano", "orin-nano-8gb-r39"),
    ("agx", "agx-orin-64gb-r36"),
)
MOST = 24


def specs(count: int) -> list[NodeSpec]:
    """So many boards, every class in turn."""
    kinds = [ORDER[number % len(ORDER)] for number in range(count)]
    return [NodeSpec(f"{short}-{at}", kind) for at, (short, kind) in enumerate(kinds, 1)]


def up(count: int) -> None:
    started = time.monotonic()
    lab = Lab.start(FOLDER, specs(count), name=NAME, say=print)
    write_fleet(FOLDER, MODEL, HUB_URL)
    where = FOLDER.relative_to(Path.cwd()) if FOLDER.is_relative_to(Path.cwd()) else FOLDER
    print(f"\n{count} boards in {time.monotonic() - started:.0f} s")
    wide = max(len(node.spec.kind) for node in lab.nodes.values())
    print(f"  {'name':10} {'plays':{wide}}  {'address':15} reach it")
    for node in lab.nodes.values():
        reach = f"ssh -F {where}/ssh_config {node.name}"
        print(f"  {node.name:10} {node.spec.kind:{wide}}  {node.address:15} {reach}")
    print(f"\n  inventory     {where}/inventory.json (Ansible's format), {where}/known_hosts")
    print(f"  own catalog   {where}/profiles: model lab-tiny, images of the lab's registry")
    print(f"  model hub     {HUB_URL} for the boards, {lab.hub.url} from here")
    print("  a board's own disks survive: docker kill, then docker start, is its power cut")
    print("  remove all    make lab-down")
    print("\n  a rollout over all of them:")
    print(f"  .venv/bin/speccompose fleet enroll {where}/fleet.yaml")
    print(f"  make deploy FLEET={where}/fleet.yaml")


def down() -> None:
    removed = outer.remove_all(NAME)
    if FOLDER.is_dir():
        remove_secrets(FOLDER)
    reaped = reap()
    print(f"removed the lab: {len(removed)} containers, volumes and networks of its own")
    if reaped:
        print(f"and the labs of test runs that are gone: {', '.join(reaped)}")


def main(argv: list[str]) -> int:
    if argv[:1] == ["up"] and len(argv) <= 2:
        count = int(argv[1]) if len(argv) == 2 and argv[1].isdigit() else 6
        if argv[1:] not in ([], [str(count)]) or not 1 <= count <= MOST:
            print(f"error: N is {' '.join(argv[1:])!r}, wanted 1 to {MOST}", file=sys.stderr)
            return 2
        try:
            up(count)
        except outer.LabError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0
    if argv == ["down"]:
        down()
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
