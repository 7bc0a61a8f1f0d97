"""Draws rows of real and simulated durations as one SVG, in sections with axes of their own.

Each row has the real range, its cases and its median, and below it the range and the median of the simulated durations.
The picture follows the colour scheme of the reader. It needs no script and no font of its own.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Protocol

WIDTH = 1000
# The left and right ends of the axes, and the columns of text at the right.
LEFT, RIGHT = 326, 748
REAL_AT, OURS_AT, VERDICT_AT = 812, 878, 896
TOP, ROW, HEADING = 96, 25, 52

# The sections: title, what a time is, the quantities in it, and whether its machines are physical.
SECTIONS = [
    ("Whole updates", "from the start to the end in ClusterVersion", ["whole update", "machine-config begins"], None),
    ("Operators", "from the start of the update to the operator's end", ["operator finished"], None),
    ("Between operators", "from the end of one operator to that of another", ["between operators"], None),
    ("Static pods", "from one node to the next, and all three nodes", ["static pod", "static pods of 3 nodes"], None),
    ("Steps of a node", "", ["drain", "operating system", "kubelet to Ready", "reboot to Ready"], False),
    ("Steps of a physical node", "", ["operating system", "kubelet to Ready", "reboot to Ready"], True),
    (
        "Pools",
        "one node at a time",
        ["first node", "node to node", "pause between nodes", "pool", "workers after the update"],
        None,
    ),
]

# Distances between the marks of an axis, in minutes.
STEPS = [1, 2, 5, 10, 20]

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.page { fill: #fff; stroke: #dfe3e9; } .grid { stroke: #e6e9ee; } .ink { fill: #1c2430; } .soft { fill: #5b6675; }
.small { font-size: 11.5px; } .head { font-size: 14.5px; font-weight: 650; } .title { font-size: 19px; font-weight: 650; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.range { fill: #cdd3dc; } .real { fill: #7c8899; } .apart { fill: none; stroke: #7c8899; } .mark { fill: #1c2430; }
.limit { stroke: #1c2430; stroke-dasharray: 2 2; stroke-width: 1.5; } .ours { fill: #3d8bdf; } .away { fill: #e0665b; }
.no { fill: #c4281c; } .yes { fill: #1a7f45; }
@media (prefers-color-scheme: dark) {
.page { fill: #14181e; stroke: #303843; } .grid { stroke: #29313b; } .ink { fill: #e3e8ef; } .soft { fill: #98a4b3; }
.range { fill: #414b59; } .real { fill: #9aa6b6; } .apart { stroke: #9aa6b6; } .mark { fill: #fff; } .limit { stroke: #e3e8ef; }
.ours { fill: #3679c9; } .away { fill: #c94a3f; } .no { fill: #ff7d70; } .yes { fill: #5cc98a; }
}
"""


class Row(Protocol):
    """What the picture needs of a row. Times are seconds; `apart` are real cases that belong to no range."""

    quantity: str
    subject: str
    platforms: list[str]
    real: list[float]
    apart: list[float]
    limit: float | None
    of_updates: bool
    ours: list[float]
    verdict: str


@dataclass
class Axis:
    """The linear axis of a section, in seconds."""

    low: float
    high: float

    @classmethod
    def around(cls, rows: list[Row]) -> "Axis":
        """Makes the axis on which all values of these rows fit, from zero or a negative value."""
        values = [value for row in rows for value in [*row.real, *row.apart, *row.ours, row.limit or 0]]
        return cls(min(0, *values), max(values) * 1.03)

    def place(self, seconds: float) -> float:
        """Returns the place of a duration."""
        return LEFT + (seconds - self.low) / (self.high - self.low) * (RIGHT - LEFT)

    def marks(self) -> list[int]:
        """Returns the minutes that have a mark: nine of them at most."""
        step = next((step for step in STEPS if self.high / 60 / step < 9), STEPS[-1])
        return list(range(0, int(self.high // 60) + 1, step))


def draw(rows: list[Row], seeds: int) -> str:
    """Draws rows in their sections."""
    parts: list[str] = []
    y = TOP
    for title, meaning, quantities, physical in SECTIONS:
        found = [row for quantity in quantities for row in rows if row.quantity == quantity]
        if physical is not None:
            found = [row for row in found if (row.platforms == ["metal"]) == physical]
        parts += section(title, meaning, found, len(quantities) > 1, y)
        y += HEADING + ROW * len(found)
    note = "* No real case is of an update: they are first boots, and static pods during or after an installation."
    parts.append(text(24, y + 24, note, "soft small"))
    height = y + 40
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        "<title>Durations of OpenShift updates: real and simulated</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        text(24, 38, "Durations of OpenShift updates: real and simulated", "ink title"),
        *legend(seeds),
    ]
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


def legend(seeds: int) -> Iterable[str]:
    """Draws the legend."""
    y = 68
    yield bar(24, 64, y - 8, "range") + dots([32, 44, 50], y - 5, "real") + median_mark(44, y - 10)
    yield text(72, y, "real: range, cases, median", "soft small")
    yield dots([244], y - 5, "apart") + text(253, y, "case apart", "soft small")
    yield limit_mark(332, y - 12, y + 2) + text(340, y, "limit of a test", "soft small")
    yield bar(440, 480, y - 8, "ours") + median_mark(458, y - 10)
    yield text(488, y, f"ours: {seeds} seeds, median", "soft small")
    yield bar(648, 688, y - 8, "away") + median_mark(666, y - 10)
    yield text(696, y, "ours: median outside, or above a limit", "soft small")


def section(title: str, meaning: str, rows: list[Row], names_quantity: bool, y: float) -> list[str]:
    """Draws the heading, the axis and the rows of a section."""
    axis = Axis.around(rows)
    top, bottom = y + HEADING - 12, y + HEADING + ROW * len(rows)
    parts = [text(24, y + 28, title, "ink head"), text(24, y + 44, meaning, "soft small")]
    for minutes in axis.marks():
        x = axis.place(minutes * 60)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(text(x, top - 5, f"{minutes} min" if minutes else "0", "soft small middle"))
    columns = [(REAL_AT, "real", "soft small end"), (OURS_AT, "ours", "soft small end"), (VERDICT_AT, "inside?", "soft small")]
    parts += [text(x, top - 5, name, kind) for x, name, kind in columns]
    for index, row in enumerate(rows):
        parts += draw_row(row, axis, label(row, names_quantity), y + HEADING + ROW * index)
    return parts


def label(row: Row, names_quantity: bool) -> str:
    """Names a row within its section."""
    name = row.quantity if row.subject == "node" else f"{row.quantity}: {row.subject}"
    if not names_quantity or row.quantity == "whole update":
        name = row.subject
    return name if row.of_updates else f"{name} *"


def draw_row(row: Row, axis: Axis, name: str, y: float) -> list[str]:
    """Draws the name, the ranges and the medians of a row."""
    platforms = row.platforms[0] if len(row.platforms) == 1 else ""
    parts = [text(36, y + 17, name, "ink"), text(LEFT - 14, y + 17, platforms, "soft small end"), *real_range(row, axis, y)]
    is_away = row.verdict.startswith(("no", "above"))
    median = statistics.median(row.ours)
    parts.append(bar(axis.place(min(row.ours)), axis.place(max(row.ours)), y + 15, "away" if is_away else "ours"))
    parts.append(median_mark(axis.place(median), y + 13))
    if row.real:
        parts.append(text(REAL_AT, y + 17, short(statistics.median(row.real)), "soft end"))
    parts.append(text(OURS_AT, y + 17, short(median), "ink end"))
    parts.append(text(VERDICT_AT, y + 17, row.verdict, "no small" if is_away else "yes small"))
    return parts


def real_range(row: Row, axis: Axis, y: float) -> list[str]:
    """Draws the range of the real cases, each case, and the limit."""
    parts = []
    if row.real:
        parts.append(bar(axis.place(min(row.real)), axis.place(max(row.real)), y + 5, "range"))
        parts.append(dots([axis.place(value) for value in row.real], y + 8, "real"))
        parts.append(median_mark(axis.place(statistics.median(row.real)), y + 3))
    parts.append(dots([axis.place(value) for value in row.apart], y + 8, "apart"))
    if row.limit:
        parts.append(limit_mark(axis.place(row.limit), y + 1, y + 24))
    return parts


def bar(left: float, right: float, y: float, kind: str) -> str:
    """Draws a range. One of no length is still visible."""
    width = max(right - left, 4)
    return f'<rect class="{kind}" x="{(left + right - width) / 2:.1f}" y="{y}" width="{width:.1f}" height="6" rx="2"/>'


def dots(places: list[float], y: float, kind: str) -> str:
    """Draws cases. Those at one place are one dot."""
    return "".join(f'<circle class="{kind}" cx="{x:.1f}" cy="{y}" r="2.3"/>' for x in sorted({round(x, 1) for x in places}))


def median_mark(x: float, y: float) -> str:
    """Draws a median."""
    return f'<rect class="mark" x="{x - 1:.1f}" y="{y}" width="2" height="10"/>'


def limit_mark(x: float, top: float, bottom: float) -> str:
    """Draws a limit."""
    return f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'


def short(seconds: float) -> str:
    """Formats a duration in seconds or minutes."""
    if abs(seconds) < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 600 else f"{seconds / 60:.0f} min"


def text(x: float, y: float, content: str, kind: str) -> str:
    """Draws a line of text."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y}">{escape(content)}</text>' if content else ""
