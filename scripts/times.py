#!/usr/bin/env python3
"""Says where the time of a run went: its stages, the compilations that took longest, and what each test took.

usage: times.py STAGES

STAGES has a line for each stage: when it began, in seconds since 1970, a tab, and what it was (say() in common.sh)."""

import json
import pathlib
import sys
import time

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
    """What turn.py has written down of each test since then, the one that took most of the processors first."""
    files = [file for file in BUILD.glob("*/turns/*.json") if file.stat().st_mtime >= since]
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return sorted(found, key=lambda each: -each["program"] - each["kernel"])


def print_tests(since):
    """A line for each test, all of them, and their long waits."""
    known = tests(since)
    if not known:
        return
    print("\nThe tests, each beside others: seconds, and those of processors in programs and in the kernel, without what outlives "
          "its starter")
    for each in known:
        print(f"{each['seconds']:7.1f} s  {each['program']:7.1f}  {each['kernel']:7.1f}  {each['name']}"
              + (f"  ended with {each['code']}" if each["code"] else ""))
    print(f"           {sum(each['program'] for each in known):7.1f}  {sum(each['kernel'] for each in known):7.1f}  in all")
    waits = [(each["name"], wait) for each in known for wait in each["waits"]]
    print(f"\nWaits that took more than half of their limits: {len(waits)}")
    for name, wait in waits:
        print(f"{wait['seconds']:7.1f} s of {wait['limit']:g} s  {name}: {wait['what']}")


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
    print_tests(since)


if __name__ == "__main__":
    main(sys.argv[1])
