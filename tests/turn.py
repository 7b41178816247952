#!/usr/bin/env python3
"""Runs one test as soon as the machine bears one more, and writes down what it took.

usage: turn.py NAME COMMAND...

With $FARPORT_TURNS, a directory of the run's, the test waits for its turn, and NAME.json there gets its seconds, the seconds of
processors that it took, and its long waits (see harness/wait.py). Without it, as for one test by hand, it begins at once."""

import contextlib
import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

# A test that takes longer hangs: it is ended. ctest's own limit would count the wait for its turn, too.
LONGEST_SECONDS = 1800
# As many run whatever the machine does, so that a run goes on beside others' work.
LEAST = os.cpu_count() + 1
# More begin while something waits for a processor for a smaller part of the time than this.
MOST_PRESSURE = 0.5
LOOK_SECONDS = 2
PRESSURE = pathlib.Path("/proc/pressure/cpu")


def waited_for_processors():
    """The seconds since the machine's start in which something waited for a processor, by the kernel's own account."""
    some = PRESSURE.read_text(encoding="ascii").splitlines()[0]
    return int(some.rpartition("total=")[2]) / 1e6


def is_queued():
    """Whether more is runnable now than there are processors; this program is."""
    running = pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()[3]
    return int(running.partition("/")[0]) - 1 > os.cpu_count()


def pressure():
    """For which part of the next seconds something waits for a processor."""
    if PRESSURE.exists():
        before, began = waited_for_processors(), time.monotonic()
        time.sleep(LOOK_SECONDS)
        return (waited_for_processors() - before) / (time.monotonic() - began)
    looks = []
    for _ in range(20):
        time.sleep(LOOK_SECONDS / 20)
        looks.append(is_queued())
    return sum(looks) / len(looks)


def locked(path):
    """The file of this name, opened and locked by this process alone; None if another one has it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def free_place(directory):
    """How many tests run, and a place among them, which lasts as long as this process."""
    running = 0
    while True:
        place = locked(directory / f"place-{running}")
        if place is not None:
            return running, place
        running += 1


def wait_for_turn(directory):
    """One after the other: each sees what those before it have begun to do."""
    with open(directory / "turn", "w", encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        while True:
            running, place = free_place(directory)
            if running < LEAST or pressure() < MOST_PRESSURE:
                return
            os.close(place)


def run(command, environment):
    """Its exit code; that of a killed program for one that hangs."""
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        def end(number, _frame):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        try:
            return process.wait(LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"it did not end within {LONGEST_SECONDS} s: it hangs", file=sys.stderr)
            end(signal.SIGKILL, None)
            return process.wait()


def main(name, *command):
    """Runs it."""
    where = os.environ.get("FARPORT_TURNS")
    if not where:
        return run(command, os.environ)
    directory = pathlib.Path(where)
    wait_for_turn(directory)
    waits = directory / f"{name}.waits"
    began = time.monotonic()
    code = run(command, os.environ | {"FARPORT_TEST_WAITS": str(waits)})
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    known = {"name": name, "seconds": time.monotonic() - began, "program": took.ru_utime, "kernel": took.ru_stime, "code": code,
             "waits": [json.loads(line) for line in waits.read_text(encoding="utf-8").splitlines()] if waits.exists() else []}
    (directory / f"{name}.json").write_text(json.dumps(known), encoding="utf-8")
    return code


if __name__ == "__main__":
    ended = main(*sys.argv[1:])
    sys.exit(ended if ended >= 0 else 128 - ended)
