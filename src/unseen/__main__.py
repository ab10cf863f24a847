"""`python -m unseen` is the command line, and so is the command `unseen`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stops_sent_again() -> Iterator[None]:
    """Compiled code of others may drop a Ctrl-C and go on; it is sent again a moment later."""
    before = sys.unraisablehook

    def dropped(what: Any) -> None:
        if not issubclass(what.exc_type, KeyboardInterrupt):
            return before(what)
        import os
        from signal import SIGINT
        from threading import Timer

        again = Timer(0.01, os.kill, (os.getpid(), SIGINT))
        again.daemon = True
        return again.start()

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = before


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is one line too."""
    try:
        with stops_sent_again():
            from unseen.apps.cli import main as run

            run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
