"""The commands of `hillbandit`. Each one only parses, calls the library, and shows."""

from __future__ import annotations

import typer

from hillbandit import commands

app = typer.Typer(
    name="hillbandit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Optimise discrete choices when every evaluation is expensive and probably noisy.",
)


@app.callback()
def hillbandit() -> None:
    """Hold the commands together; `hillbandit --version` is answered before this runs."""


commands.register(app)
