#!/usr/bin/env python3
"""Says which tests try a room, by tests/rooms.txt.

usage: rooms.py ROOM...   prints a line each: the integration tests' names, the unit tests' files, and what else they take
       rooms.py --check   ends with 1 where a room or an integration test stands in no row, or a row names what is not there"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNIT = ROOT / "tests/unit"
INTEGRATION = ROOT / "tests/integration"


def read_rows():
    """By room: its tests. And by what else they take: the tests that take it."""
    rooms, takes = {}, {}
    for line in (ROOT / "tests/rooms.txt").read_text(encoding="ascii").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "with":
            takes[words[1]] = words[2:]
        else:
            rooms[words[0]] = words[1:]
    return rooms, takes


def unit_files(room):
    """The files of a room's unit tests without their ending; not those of rooms within it."""
    return sorted(path.stem for path in (UNIT / room).glob("*_test.cpp"))


def rooms_of_the_program():
    """The folders that are rooms by their CMakeLists.txt."""
    for path in sorted(ROOT.glob("**/CMakeLists.txt")):
        folder = path.parent.relative_to(ROOT)
        if folder.parts and folder.parts[0] not in ("build", "tests", "bench") and re.search(r"^add_room\(", path.read_text(), re.M):
            yield str(folder)


def faults():
    """What is wrong with the table, a line each."""
    rooms, takes = read_rows()
    there = {path.stem.removeprefix("test_") for path in INTEGRATION.glob("test_*.py")}
    named = {name for names in rooms.values() for name in names}
    yield from (f"tests/rooms.txt has no row for {room}" for room in rooms_of_the_program() if room not in rooms)
    yield from (f"tests/rooms.txt has no row with {name}" for name in sorted(there - named))
    also = named | {name for names in takes.values() for name in names}
    yield from (f"tests/rooms.txt names {name}, and there is no such test" for name in sorted(also - there))


def main(arguments):
    """Returns the exit code."""
    if arguments == ["--check"]:
        found = list(faults())
        print(*found, sep="\n", end="\n" if found else "")
        return 1 if found else 0
    rooms, takes = read_rows()
    wanted = [argument.rstrip("/") for argument in arguments]
    unknown = [room for room in wanted if room not in rooms]
    if unknown or not wanted:
        print(f"there is no room {' '.join(unknown)}; these are: {' '.join(rooms)}", file=sys.stderr)
        return 2
    names = list(dict.fromkeys(name for room in wanted for name in rooms[room]))
    print(*names)
    print(*dict.fromkeys(file for room in wanted for file in unit_files(room)))
    print(*(what for what, takers in takes.items() if set(takers) & set(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
