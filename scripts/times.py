#!/usr/bin/env python3
"""Says where the time of a run went: its stages, and the compilations and tests that took longest.

usage: times.py STAGES

STAGES has a line for each stage: when it began, in seconds since 1970, a tab, and what it was (say() in common.sh)."""

import pathlib
import sys
import time
import xml.etree.ElementTree

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build"
MOST = 10


def stages(lines, end):
    """Name and seconds of each."""
    begun = [line.split("\t", 1) for line in lines]
    for index, (begin, name) in enumerate(begun):
        until = float(begun[index + 1][0]) if index + 1 < len(begun) else end
        yield name, until - float(begin)


def compilations(since):
    """Name and seconds of what ninja has made since then."""
    for log in BUILD.glob("*/.ninja_log"):
        if log.stat().st_mtime < since:
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            begin, end, made, output, _ = line.split("\t")
            if int(made) / 1e9 >= since:
                yield f"{log.parent.name}: {output.replace('/CMakeFiles', '')}", (int(end) - int(begin)) / 1000


def tests(since):
    """Name and seconds of what ctest has run since then."""
    for report in BUILD.glob("*/tests.xml"):
        if report.stat().st_mtime < since:
            continue
        for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
            yield case.get("name"), float(case.get("time"))


def print_table(title, rows, in_order=False):
    """Of rows not in order, the longest."""
    rows = list(rows) if in_order else sorted(rows, key=lambda row: -row[1])[:MOST]
    if rows:
        print(f"\n{title}")
    for name, seconds in rows:
        print(f"{seconds / 60:7.1f} min  {name}" if in_order else f"{seconds:7.1f} s    {name}")


def main(file):
    """Prints the tables."""
    now = time.time()
    lines = pathlib.Path(file).read_text(encoding="utf-8").splitlines()
    if not lines:
        return
    since = float(lines[0].split("\t")[0])
    print_table("Where the time went", [*stages(lines, now), ("in all", now - since)], in_order=True)
    print_table("The slowest compilations, each beside others", compilations(since))
    print_table("The slowest tests, each beside others", tests(since))


if __name__ == "__main__":
    main(sys.argv[1])
