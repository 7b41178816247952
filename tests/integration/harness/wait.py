"""Waiting for a condition, with a deadline."""

import time

POLL_SECONDS = 0.02


class TooLate(AssertionError):
    """What was waited for did not come in time."""


def until(condition, what, seconds=15.0):
    """Waits until `condition()` is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TooLate(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(POLL_SECONDS)


def stays(condition, what, seconds):
    """Fails if `condition()` stops being true within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            raise AssertionError(f"ended early: {what}")
        time.sleep(POLL_SECONDS)
