"""The commands around a study: optimize, show, export, report."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import hillbandit as hb
from hillbandit.live import LiveDisplay
from hillbandit.overview import Ended, Overview, config_text, shown, spread
from hillbandit.program import Program, load_function, names_function
from hillbandit.space import Space
from hillbandit.space_file import read_space
from hillbandit.store import StudyError, reading
from hillbandit.study import DEFAULT_NAME, Study
from hillbandit.trial import Recommendation, Result

WIDE = 100_000
"""The width of a table that goes into a file or a pipe: nothing is cut off there."""

StudyFile = Annotated[Path, typer.Argument(help="The study's file.", show_default=False)]
StudyName = Annotated[
    str | None, typer.Option(help="The study's name, where the file has several.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command()(optimize)
    app.command()(show)
    app.command()(export)
    app.command()(report)


def optimize(
    command: Annotated[
        list[str],
        typer.Argument(
            help="After --, a program with its arguments, {gene} standing for a gene's value; or "
            "a function, as module:function or file.py:function.",
            show_default=False,
        ),
    ],
    space: Annotated[Path, typer.Option(help="A TOML file with the genes.", show_default=False)],
    budget: Annotated[
        int | None, typer.Option(help="Evaluations in all, those in the study's file included.")
    ] = None,
    maximize: Annotated[
        bool | None,
        typer.Option("--maximize/--minimize", help="Which way is better; --maximize by default."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="Keep every evaluation in this file, or go on with it.")
    ] = None,
    name: Annotated[str, typer.Option(help="The study's name in that file.")] = DEFAULT_NAME,
    timeout: Annotated[
        float | None, typer.Option(help="Begin no evaluation after so many seconds.")
    ] = None,
    target: Annotated[float | None, typer.Option(help="Stop once this value is reached.")] = None,
    noisy: Annotated[
        bool, typer.Option("--noisy", help="Two evaluations of a configuration may differ.")
    ] = False,
    resamples: Annotated[
        int | None, typer.Option(help="Evaluations of either side in a noisy comparison.")
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(help="The optimiser's name; kalman by default.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes the run.")] = None,
    workers: Annotated[int | None, typer.Option(help="Evaluations at a time.")] = None,
    trial_timeout: Annotated[
        float | None, typer.Option(help="Stop an evaluation after so many seconds; it has failed.")
    ] = None,
    retries: Annotated[int, typer.Option(help="How often a failed evaluation is repeated.")] = 0,
    max_failures: Annotated[
        int | None, typer.Option(help="Stop when more evaluations have failed.")
    ] = None,
    confirm: Annotated[
        float | None,
        typer.Option(help="The share of the budget that evaluates the leaders afresh at the end."),
    ] = None,
    regex: Annotated[
        str | None, typer.Option(help="Where the value is in the output: its last match.")
    ] = None,
    json_key: Annotated[
        str | None, typer.Option(help="The value's key in the JSON that the program prints.")
    ] = None,
) -> None:
    """Search for the best values of a program's, or a function's, settings.

    The program's last printed number is the value. The same command again goes on with the study.
    """
    if budget is None and timeout is None:
        _wrong_usage("Say when to stop: --budget in evaluations, or --timeout in seconds.")
    with _telling():
        genes = read_space(space)
        objective = _objective(command, genes, regex, json_key)
        how: dict[str, Any] = {
            "budget": budget,
            "timeout": timeout,
            "target": target,
            "workers": workers,
            "trial_timeout": trial_timeout,
            "retries": retries,
            "max_failures": max_failures,
            "confirm": confirm,
            "on_failure": "record",
            "progress": False,
        }
        options: dict[str, Any] = {} if resamples is None else {"resamples": resamples}
        with _stopping(objective), LiveDisplay(Console(stderr=True), budget) as display:
            how["callbacks"] = [display]
            if study is None:
                upwards = maximize is not False
                search = hb.maximize if upwards else hb.minimize
                result = search(
                    objective,
                    genes,
                    optimizer=optimizer,
                    noisy=noisy or None,
                    seed=seed,
                    **how,
                    **options,
                )
            else:
                opened = Study.open(
                    study,
                    genes,
                    name=name,
                    maximizing=maximize,
                    optimizer=optimizer,
                    noisy=noisy or None,
                    seed=seed,
                    **options,
                )
                with opened:
                    upwards = opened.maximizing
                    if opened.evaluations:
                        _say(
                            f"Going on with the study {name!r} in {study}, which has "
                            f"{opened.evaluations} evaluations."
                        )
                    result = opened.run(objective, **how)
        _tell_result(result, upwards, study, name)
    if result.stopped_because == "interrupted":
        raise typer.Exit(130)
    if result.stopped_because.startswith("failures"):
        raise typer.Exit(1)


def show(
    study: StudyFile,
    name: StudyName = None,
    leaders: Annotated[int, typer.Option(help="How many leaders.", min=1)] = 10,
) -> None:
    """Show a study's state, its leaders, and its genes in order of urgency, also while it runs."""
    with _telling(), reading(study), Overview(study, name) as overview:
        console = _console(sys.stdout)
        _show_state(console, overview)
        _show_leaders(console, overview.study, leaders)
        _show_genes(console, overview.study)


class Format(StrEnum):
    """What `export` writes."""

    CSV = "csv"
    JSONL = "jsonl"


def export(
    study: StudyFile,
    name: StudyName = None,
    format_: Annotated[
        Format, typer.Option("--format", help="CSV, or one JSON object a line.")
    ] = Format.CSV,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; standard output without it.")
    ] = None,
) -> None:
    """Write every evaluation of a study, failed ones included, in the order in which they ended."""
    with _telling(), reading(study), Overview(study, name) as overview:
        write = _write_csv if format_ is Format.CSV else _write_json_lines
        if output is None:
            write(overview, sys.stdout)
            return
        _keep_apart(study, output)
        with output.open("w", encoding="utf-8", newline="") as file:
            write(overview, file)


def report(
    study: StudyFile,
    name: StudyName = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
) -> None:
    """Write a page about a study, with interactive charts, that opens without a network."""
    with _telling(), reading(study), Overview(study, name) as overview:
        # here, because it needs an extra of its own
        from hillbandit.study_report import page

        text = page(overview)
        _keep_apart(study, output)
        output.write_text(text, encoding="utf-8")
        _say(f"Wrote {output}.")


# --- optimize -----------------------------------------------------------------------------------


def _objective(
    command: list[str], space: Space, regex: str | None, json_key: str | None
) -> Callable[..., Any]:
    if len(command) == 1 and names_function(command[0]):
        if regex is not None or json_key is not None:
            _wrong_usage("--regex and --json-key are for programs; a function returns its value.")
        return load_function(command[0])
    try:
        program = Program(command, regex=regex, json_key=json_key)
        unused = program.check(space)
    except ValueError as error:
        _wrong_usage(str(error))
    if unused:
        named = ", ".join(f"{{{shown(gene)}}}" for gene in unused[:5])
        more = " and others" if len(unused) > 5 else ""
        _say(f"Note: the command does not use {named}{more}.")
    return program


@contextlib.contextmanager
def _stopping(objective: Callable[..., Any]) -> Iterator[None]:
    """Stop programs at the end, and take a request to terminate for an interrupt."""

    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if isinstance(objective, Program):
            objective.close()


def _tell_result(result: Result, upwards: bool, study: Path | None, name: str) -> None:
    console = _console(sys.stdout)
    failed = f", {result.failures} failed" if result.failures else ""
    reused = f", {result.reused} answered from memory" if result.reused else ""
    _print(
        console,
        f"Stopped: {shown(result.stopped_because)}. "
        f"{result.evaluations} evaluations{failed}{reused}; seed {result.seed}.",
    )
    best = result.recommended
    _print(console, f"Recommended, {'maximising' if upwards else 'minimising'}:")
    config = best.config if isinstance(best.config, dict) else dict(enumerate(best.config))
    table = Table.grid(padding=(0, 2))
    for gene, value in config.items():
        table.add_row(Text(f"  {shown(gene)}"), Text(shown(value)))
    console.print(table)
    _print(console, _basis(best, result.confirmed))
    if study is not None:
        named = "" if name == DEFAULT_NAME else f" --name {name}"
        _print(
            console,
            f"Look next: hillbandit show {study}{named}\n"
            f"       or: hillbandit report {study}{named} -o report.html",
        )


def _basis(best: Recommendation, confirmed: bool) -> str:
    fresh = "fresh " if confirmed else ""
    times = "1 evaluation" if best.evaluations == 1 else f"{best.evaluations} {fresh}evaluations"
    return f"{spread(best)}, from {times}"


# --- show ---------------------------------------------------------------------------------------


def _show_state(console: Console, overview: Overview) -> None:
    study = overview.study
    way = "maximised" if study.maximizing else "minimised"
    noise = "noisy" if study.optimizer.noisy else "noise-free"
    grid = Table.grid(padding=(0, 2))
    rows = {
        "study": f"{shown(study.name)} in {overview.path}",
        "search": f"{way}, {noise}, {type(study.optimizer).name}, seed {study.optimizer.seed}, "
        f"{len(study.space)} genes",
        "state": shown(overview.state),
        "told": str(study.evaluations),
        "failed": str(study.failures),
        "in flight": str(len(study.outstanding)),
    }
    best, confirmed = overview.answer()
    if best is not None:
        rows["answer"] = f"{_basis(best, confirmed)}: {config_text(best.config)}"
    for what, text in rows.items():
        grid.add_row(what, Text(text))
    console.print(grid)


def _show_leaders(console: Console, study: Study, count: int) -> None:
    table = _table("rank", "mean", "low", "high", "count", "configuration")
    for rank, leader in enumerate(study.leaders(count), start=1):
        numbers = (leader.mean, leader.low, leader.high)
        table.add_row(
            str(rank),
            *(_number(number) for number in numbers),
            str(leader.evaluations),
            Text(config_text(leader.config)),
        )
    _print(console, "\nLeaders (mean and 95 % interval)")
    console.print(table)


def _show_genes(console: Console, study: Study) -> None:
    table = _table("urgency", "rescue", "explore", "mutations", "value", "gene")
    # sorted() keeps the order of the space among equals
    for gene in sorted(study.explain(), key=lambda gene: -gene.urgency):
        table.add_row(
            *(_number(number) for number in (gene.urgency, gene.rescue, gene.explore)),
            str(gene.mutations),
            Text(shown(gene.value)),
            Text(shown(gene.gene)),
        )
    _print(console, "\nGenes, the most urgent first (with the value climbed from)")
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        words = column in ("configuration", "value", "gene")
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    return table


def _number(number: float) -> str:
    return f"{number:.5g}"


# --- export -------------------------------------------------------------------------------------

COLUMNS = ("number", "status", "value", "time", "worker", "error")


def _write_csv(overview: Overview, file: IO[str]) -> None:
    space = overview.study.space
    header = list(COLUMNS)
    for gene in range(len(space)):
        label = str(space.label(gene)) if space.names is not None else f"gene_{gene}"
        while label in header:  # a gene may be called "value"
            label = f"gene_{label}"
        header.append(label)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for ended in overview.evaluations():
        values = [space.value(gene, index) for gene, index in enumerate(ended.genome.tolist())]
        writer.writerow([*_row(ended).values(), *values])


def _write_json_lines(overview: Overview, file: IO[str]) -> None:
    space = overview.study.space
    for ended in overview.evaluations():
        config = space.decode(ended.genome)
        row = _row(ended) | {"config": config if isinstance(config, dict) else config.tolist()}
        file.write(f"{json.dumps(row)}\n")


def _row(ended: Ended) -> dict[str, Any]:
    when = datetime.fromtimestamp(ended.time, UTC).isoformat(timespec="milliseconds")
    values = (ended.number, ended.status, ended.value, when, ended.worker, ended.error)
    return dict(zip(COLUMNS, values, strict=True))


def _keep_apart(study: Path, output: Path) -> None:
    if output.exists() and output.samefile(study):
        raise StudyError(f"{output} is the study itself: write to another file.")


# --- talking ------------------------------------------------------------------------------------


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Turn errors into one sentence and an exit code."""
    try:
        yield
    except BrokenPipeError:
        # whoever reads our output has seen enough; Python must not complain about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        _say("Interrupted before an evaluation had ended.")
        raise typer.Exit(130) from None
    except (StudyError, ModuleNotFoundError, OSError, TypeError, ValueError) as error:
        _say(str(error))
        raise typer.Exit(1) from None


def _wrong_usage(text: str) -> NoReturn:
    _say(text)
    raise typer.Exit(2)


def _say(text: str) -> None:
    """Write a sentence to standard error."""
    _print(_console(sys.stderr), shown(" ".join(text.split())))


def _console(file: IO[str]) -> Console:
    return Console(file=file, width=None if file.isatty() else WIDE, highlight=False)


def _print(console: Console, text: str) -> None:
    """Print text as it is: no markup in it, and no line broken."""
    console.print(Text(text), soft_wrap=True)
