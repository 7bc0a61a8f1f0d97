#!/usr/bin/env python3
"""Compares durations of simulated updates with those of real ones.

Runs `updates.yaml` once for each seed, measures the records (`records.py`), and prints a Markdown table beside the cases in
`real.json`. `--svg` also draws the rows (`picture.py`). Needs Python 3.11 and its standard library.

    tests/timings/compare.py [BINARY] [--seeds 50] [--brief] [--svg docs/images/timings.svg]
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import picture
import records

FOLDER = Path(__file__).parent

# The part of a real range beyond its ends that still counts as inside: a few cases never show the whole range.
TOLERANCE = 0.1

# The subjects of the brief table and the picture. A quantity that is missing here has all its subjects there.
BRIEF = {
    "operator finished": ["etcd", "etcd of a single node", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
                          "machine-api", "monitoring", "authentication", "console", "openshift-apiserver"],
    "reboot to kubelet": [],
}

# Quantities whose rows are brief although they have only a limit, and no real case.
LIMITED = ["whole update", "workers after the update"]

# Simulated seconds by quantity, subject and platform.
Ours = dict[tuple[str, str, str], list[float]]


@dataclass
class Row:
    """A quantity of real updates beside the same one of simulated updates; times in seconds.

    `apart` are real cases that belong to no range. `of_updates` is false if all real cases are from installations.
    """

    quantity: str
    subject: str
    platforms: list[str]
    real: list[float]
    apart: list[float]
    limit: float | None
    of_updates: bool
    ours: list[float]

    @property
    def verdict(self) -> str:
        """Says whether the simulated durations are in the real range."""
        if not self.real:
            return "below the limit" if max(self.ours) <= self.limit else "above the limit"
        low, high = min(self.real) * (1 - TOLERANCE), max(self.real) * (1 + TOLERANCE)
        median = statistics.median(self.ours)
        if median < low:
            return "no, shorter"
        if median > high:
            return "no, longer"
        return "yes" if low <= min(self.ours) and max(self.ours) <= high else "mostly"

    @property
    def is_brief(self) -> bool:
        """Says whether the brief table has it."""
        is_known = bool(self.real) or self.quantity in LIMITED
        return is_known and self.subject in BRIEF.get(self.quantity, [self.subject])


def run(binary: str, seed: int, folder: Path) -> None:
    """Runs all updates with a seed, and writes their records into a folder."""
    command = [binary, "run", str(FOLDER / "updates.yaml"), "--quiet", "--jobs", "1"]
    command += ["--seed", str(seed), "--record", f"{folder}/"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")


def simulate(binary: str, seeds: int) -> Ours:
    """Runs all updates with the seeds 1 to `seeds`, and returns the measured durations."""
    ours: Ours = defaultdict(list)
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            run(binary, seed, Path(folder))
            for record in sorted(Path(folder).glob("*.jsonl")):
                moments = records.read(record)
                platform = moments.scenario.split(" on ")[1]
                for quantity, subject, seconds in records.measure(moments):
                    ours[quantity, subject, platform].append(seconds)
    return ours


def rows(real: dict, ours: Ours) -> list[Row]:
    """Groups the real cases into rows, in their order, and adds the simulated durations."""
    groups: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for case in real["cases"]:
        quantity = real["quantities"][case["quantity"]]
        platform = case.get("platform", "") if quantity["by_platform"] else ""
        groups[case["quantity"], case["subject"], platform].append(case)
    return [row(key, cases, ours) for key, cases in groups.items()]


def row(key: tuple[str, str, str], cases: list[dict], ours: Ours) -> Row:
    """Makes the row of some real cases. The simulated durations are those of the same platforms, or of all."""
    quantity, subject, _ = key
    platforms = sorted({case["platform"] for case in cases if "platform" in case}, key=str.lower)
    seconds = [case["seconds"] for case in cases if "seconds" in case and "apart" not in case]
    apart = [case["seconds"] for case in cases if "apart" in case]
    of_updates = any("phase" not in case for case in cases)
    limits = [case["limit"] for case in cases if "limit" in case]
    same = [
        found
        for (other, its_subject, platform), values in ours.items()
        if (other, its_subject) == (quantity, subject) and (not platforms or platform in platforms)
        for found in values
    ]
    if not same:
        sys.exit(f"no simulated update has {quantity}, {subject}, {platforms}")
    return Row(quantity, subject, platforms, seconds, apart, min(limits, default=None), of_updates, same)


def clock(seconds: float) -> str:
    """Formats a duration, such as 6:14 for minutes and 1:09:31 for hours."""
    minutes, rest = divmod(round(abs(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"-{text}" if seconds < 0 else text


def spread(values: list[float]) -> str:
    """Formats the minimum, the median and the maximum, or one value if they are equal."""
    texts = [clock(value) for value in (min(values), statistics.median(values), max(values))]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def table(found: list[Row], seeds: int) -> str:
    """Formats rows as a Markdown table."""
    lines = [
        f"| quantity | of | platforms | real: cases | real: min / median / max | ours, {seeds} seeds | inside? |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in found:
        measured = spread(item.real) if item.real else ""
        limit = f"limit {clock(item.limit)}" if item.limit else ""
        real = ", ".join(filter(None, [measured, limit]))
        platforms = ", ".join(item.platforms) or "any"
        cases = " + ".join(str(len(found)) for found in (item.real, item.apart) if found)
        cases += "" if item.of_updates else " \\*"
        cells = [item.quantity, item.subject, platforms, cases, real, spread(item.ours), item.verdict]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Reads the arguments, runs, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", nargs="?", default="windtunnel", help="the program to run (default: windtunnel on PATH)")
    parser.add_argument("--seeds", type=int, default=50, help="number of seeds (default: 50)")
    parser.add_argument("--brief", action="store_true", help="print the rows of docs/faithfulness.md only")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the rows of the brief table into a file")
    arguments = parser.parse_args()
    if not shutil.which(arguments.binary):
        parser.error(f"no program {arguments.binary}: build it with `cargo build --release`, and pass target/release/windtunnel")
    real = json.loads((FOLDER / "real.json").read_text(encoding="utf-8"))
    found = rows(real, simulate(arguments.binary, arguments.seeds))
    brief = [item for item in found if item.is_brief]
    print(table(brief if arguments.brief else found, arguments.seeds))
    if arguments.svg:
        arguments.svg.write_text(picture.draw(brief, arguments.seeds), encoding="utf-8")


if __name__ == "__main__":
    main()
