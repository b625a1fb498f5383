"""A document of a few kinds of blocks, written as Markdown or as one HTML file."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of points."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; columns other than the first `words` ones hold numbers and stand to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: the path of its SVG, with the PNG beside it."""

    path: Path
    caption: str


Block = Heading | Paragraph | Bullets | Table | Picture


def to_markdown(blocks: Sequence[Block], beside: Path) -> str:
    r"""Write a document as Markdown.

    Example:
        >>> from pathlib import Path
        >>> from hillbandit.experiments.document import Heading, to_markdown
        >>> to_markdown([Heading(1, "Results")], Path())
        '# Results\n'

    Args:
        blocks: What it says.
        beside: The folder that it will stand in; pictures are linked from there.
    """
    return "\n\n".join(_markdown(block, beside) for block in blocks) + "\n"


def _markdown(block: Block, beside: Path) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Picture(path, caption):
            place = path.with_suffix(".png").relative_to(beside).as_posix()
            return f"![{caption}]({place})\n\n*{caption}*"
        case Table(header, rows, words):
            marks = ["---" if column < words else "---:" for column in range(len(header))]
            lines = [header, marks, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: left;
  vertical-align: top; }
th { border-bottom: 2px solid #999; } .n { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
tr:nth-child(even) td { background: #f7f7f7; }
"""


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Write a document as one HTML file that needs nothing else, pictures included.

    Args:
        blocks: What it says.
        title: For the window.
    """
    body = "\n".join(_html(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n{body}\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Picture(path, caption):
            # As an image and not inline: a picture's identifiers then stay its own.
            data = base64.b64encode(path.read_bytes()).decode("ascii")
            return (
                f'<figure><img alt="{html.escape(caption)}" '
                f'src="data:image/svg+xml;base64,{data}">'
                f"<figcaption>{_inline(caption)}</figcaption></figure>"
            )
        case Table(header, rows, words):
            head = "".join(_cell("th", text, column >= words) for column, text in enumerate(header))
            body = "".join(
                "<tr>"
                + "".join(_cell("td", text, column >= words) for column, text in enumerate(row))
                + "</tr>"
                for row in rows
            )
            return (
                f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
                f"<tbody>{body}</tbody></table></div>"
            )


def _cell(tag: str, text: str, number: bool) -> str:
    kind = ' class="n"' if number else ""
    return f"<{tag}{kind}>{_inline(text)}</{tag}>"


def _inline(text: str) -> str:
    """Escape text, and set **this** in bold and `this` as code."""
    parts = html.escape(text).split("**")
    bold = "".join(f"<b>{part}</b>" if i % 2 else part for i, part in enumerate(parts))
    parts = bold.split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
