"""Entry point: `speccompose` and `python -m speccompose`.

Answers --version before anything heavy is imported, then hands over to cli.
"""

import contextlib
import os
import sys

from speccompose import __version__

_INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with the contract's status."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        with contextlib.suppress(OSError):  # what cannot be written is told by the edge
            print(f"speccompose {__version__}", flush=True)
            return
    try:
        from speccompose.cli.edge import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before the edge is there to tell
        os.write(2, b"interrupted\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
