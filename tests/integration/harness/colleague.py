"""A colleague: another user of the victim's group, who would have a program of their own run as the victim. A program, which
the tests run as that user.

colleague.py plant KIND PATH SOURCE MARK   puts something at PATH. SOURCE: a directory of the victim's that the group may
                                           write to, for kinds that take one. What is planted would make the file MARK
colleague.py watch DIRECTORY PREFIX MARK WAYS FIRST   after each line from the fifo WAYS/ask, but for the FIRST ones,
                                           replaces all it can of DIRECTORY/PREFIX*, then answers by WAYS/answer"""

import contextlib
import os
import sys

SPARE = "spare-"


def _trap(directory, mark):
    path = os.path.join(directory, "farport")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\ntouch {mark}\n")
    os.chmod(path, 0o777)


def plant(kind, path, source, mark):
    """own: a directory of the colleague's. moved: one of the victim's, moved here. link: to one of the victim's. file: a file
    of the colleague's."""
    if kind == "own":
        os.mkdir(path)
        os.chmod(path, 0o777)
        _trap(path, mark)
    elif kind == "moved":
        _trap(source, mark)
        os.rename(source, path)
    elif kind == "link":
        _trap(source, mark)
        os.symlink(source, path)
    elif kind == "file":
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ntouch {mark}\n")
        os.chmod(path, 0o777)
    else:
        sys.exit(f"no such kind: {kind}")


def _replace(directory, prefix, mark, moved):
    """Says what worked."""
    done = []
    names = os.listdir(directory)
    spares = [name for name in names if name.startswith(SPARE)]
    for name in names:
        if not name.startswith(prefix):
            continue
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):
            _trap(path, mark)
            done.append("trapped")
        if not spares:
            continue
        with contextlib.suppress(OSError):
            os.rename(path, os.path.join(directory, f"moved-{len(moved)}"))
            moved.append(name)
            os.rename(os.path.join(directory, spares.pop()), path)
            _trap(path, mark)
            done.append("exchanged")
    return done


def watch(directory, prefix, mark, ways, first):
    """Answers each line once it has done its worst."""
    moved = []
    for name in os.listdir(directory):
        if name.startswith(SPARE):
            _trap(os.path.join(directory, name), mark)
    with open(os.path.join(ways, "ask"), encoding="ascii") as asked:
        for number, _ in enumerate(asked):
            if number >= int(first):
                print(*_replace(directory, prefix, mark, moved), flush=True)
            with open(os.path.join(ways, "answer"), "w", encoding="ascii") as answer:
                answer.write("\n")


if __name__ == "__main__":
    {"plant": plant, "watch": watch}[sys.argv[1]](*sys.argv[2:])
