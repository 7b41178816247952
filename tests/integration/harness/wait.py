"""Waiting for a condition, with a deadline."""

import time

POLL_SECONDS = 0.02
MOST_SECONDS = 0.5


class TooLate(AssertionError):
    """What was waited for did not come in time."""


def until(condition, what, seconds=15.0):
    """Waits until `condition()` is true, and returns its value. A look that takes long, such as one that starts a program, is
    not followed by the next one at once: those who are waited for need the processors."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > deadline:
            raise TooLate(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(min(max(POLL_SECONDS, 2 * (now - began)), MOST_SECONDS))


def stays(condition, what, seconds):
    """Fails if `condition()` stops being true within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            raise AssertionError(f"ended early: {what}")
        time.sleep(POLL_SECONDS)
