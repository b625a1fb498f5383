"""The command `hillbandit`, also as `python -m hillbandit`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from hillbandit._version import __version__


def main() -> None:
    """Run the command line; without the `cli` extra only --version works."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"hillbandit {__version__}\n")
        return
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.exit('The command line needs the cli extra: pip install "hillbandit[cli]"')
    from hillbandit.cli import app

    app()


if __name__ == "__main__":
    main()
