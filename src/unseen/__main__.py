"""`python -m unseen` is the command line, and so is the command `unseen`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is one line too."""
    try:
        from unseen.apps.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
