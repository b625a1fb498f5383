"""The commands of `hillbandit`. Each one only parses, calls the library, and shows."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from hillbandit import commands
from hillbandit._version import __version__

app = typer.Typer(
    name="hillbandit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Optimise discrete choices when every evaluation is expensive and probably noisy.",
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hillbandit {__version__}")
        raise typer.Exit


@app.callback()
def hillbandit(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version."),
    ] = False,
) -> None:
    """Hold the commands together."""


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Where results go, and are taken up again.")] = Path(
        "results"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="A thinned grid, in under a minute.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes to use.", show_default="all cores")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster instead.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Experiments by name or number, with commas: onemax, noisy-onemax, royal-road, "
            "noisy-royal-road, readings, endings, theory.",
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Runs of each cell.", show_default="100, 20 with --quick")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed that all others come from.")] = 1,
    n: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Genome lengths of experiments 1 to 4, with commas."),
    ] = None,
    blocks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Block sizes of Royal Road, with commas.")
    ] = None,
    resamples: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Values of r under noise, with commas."),
    ] = None,
) -> None:
    """Reproduce the paper: every experiment, its figures, and a report.

    Interrupted, it goes on where it was when the same command is given again.

    The report, the tables and the figures in --out are of what this command asks for; those of an
    earlier command there are replaced. What that one ran stays in the journal there, and is not run
    again when it is asked for again.
    """
    missing = [name for name in ("numba", "matplotlib") if find_spec(name) is None]
    if missing:
        _refuse(
            f"reproduce needs {' and '.join(missing)}, from the experiments extra: "
            'pip install "hillbandit[experiments]"'
        )
    from rich.console import Console
    from rich.text import Text

    from hillbandit.experiments.display import progress_for
    from hillbandit.experiments.engines import connect
    from hillbandit.experiments.plan import Options, Refused, make_plan
    from hillbandit.experiments.runner import reproduce as run

    console = Console()
    try:
        plan = make_plan(
            Options(
                only=None if only is None else [name.strip() for name in only.split(",")],
                repeats=repeats,
                seed=seed,
                n=_numbers("--n", n),
                blocks=_numbers("--blocks", blocks),
                resamples=_numbers("--resamples", resamples),
                quick=quick,
            )
        )
        with closing(connect(workers, dask)) as engine, progress_for(console) as progress:
            report = run(plan, out, engine, progress, ["hillbandit", *sys.argv[1:]])
    except Refused as refused:
        _refuse(str(refused))
    except KeyboardInterrupt:
        console.print("Interrupted. Give the same command again to go on where it was.")
        raise typer.Exit(130) from None
    # as Text: a path may look like markup
    console.print(
        Text(
            f"Figures: {report.parent / 'figures'}\nTables:  {report.parent / 'summary.csv'}\n"
            f"Open:    {report}"
        ),
        soft_wrap=True,
    )


def _numbers(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        _refuse(f"{option} needs whole numbers with commas between them, not {text!r}.")


def _refuse(sentence: str) -> NoReturn:
    """Say why not, and end with the status that a wrong command line has."""
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


commands.register(app)
