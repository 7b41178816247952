"""Waiting for a condition. A wait ends with what is waited for: its limit is only reached where something is broken."""

import functools
import json
import os
import subprocess
import sys
import time

POLL_SECONDS = 0.02
MOST_SECONDS = 0.5
# The limit of a wait that has no reason for another one.
LONGEST_SECONDS = 300.0
# How long the piece of work of pace() takes on the machine that limits are written for, beside nothing else.
USUAL_PACE_SECONDS = 0.25
STARTS = 20


class TooLate(AssertionError):
    """What was waited for did not come in time."""


def measured_pace():
    """How many times as long as usual this machine takes for a known piece of work now: some programs' starts."""
    began = time.monotonic()
    for _ in range(STARTS):
        subprocess.run([sys.executable, "-S", "-E", "-c", ""], check=True)
    return max(1.0, (time.monotonic() - began) / USUAL_PACE_SECONDS)


@functools.cache
def pace():
    """The same as it was when the run began, where one has measured it."""
    known = os.environ.get("FARPORT_TEST_PACE")
    return float(known) if known else measured_pace()


def scaled(seconds):
    """A limit in seconds, for this machine."""
    return seconds if seconds >= LONGEST_SECONDS else min(seconds * pace(), LONGEST_SECONDS)


def note(seconds, limit, what):
    """Writes down a wait that took more than half of its limit, for the table at a run's end."""
    file = os.environ.get("FARPORT_TEST_WAITS")
    if file and seconds > limit / 2:
        line = json.dumps({"seconds": round(seconds, 1), "limit": round(limit, 1), "what": what[:100]})
        with open(file, "a", encoding="utf-8") as opened:
            opened.write(line + "\n")


def until(condition, what, seconds=LONGEST_SECONDS):
    """Waits until `condition()` is true, and returns its value. A look that takes long, such as one that starts a program, is
    not followed by the next one at once: those who are waited for need the processors."""
    limit = scaled(seconds)
    start = time.monotonic()
    while True:
        began = time.monotonic()
        value = condition()
        now = time.monotonic()
        if value:
            note(now - start, limit, what if isinstance(what, str) else _place())
            return value
        if now > start + limit:
            raise TooLate(f"not within {limit:g} s: {what() if callable(what) else what}")
        time.sleep(min(max(POLL_SECONDS, 2 * (now - began)), MOST_SECONDS))


def _place():
    """File and line of the caller beyond this file."""
    frame = sys._getframe()  # pylint: disable=protected-access
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def stays(condition, what, seconds):
    """Fails if `condition()` stops being true within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            raise AssertionError(f"ended early: {what}")
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    print(f"{measured_pace():.2f}")
