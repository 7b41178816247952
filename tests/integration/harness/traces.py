"""Traces as two readers see them: ours (nettrace_dump) and Microsoft's (driver events)."""

import re

from harness import needs

RUNTIME, RUNDOWN = "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown"
SAMPLES = "Microsoft-DotNETCore-SampleProfiler"
# Microsoft's library leaves the stacks of these out.
WITHOUT_STACKS = {140, 141, 142, 143, 144, 190}
LINE = re.compile(r"event (\S+) (\d+) (\S+) time=(-?\d+) (.*?) processor=(\S+) (.*?) opcode=(\d+) (.*?) stack=(\S*) (.*)")


class Reading:
    """What a reader has printed: events in one form, and totals."""

    def __init__(self, text):
        lines = text.splitlines()
        self.events = [LINE.fullmatch(line).groups() for line in lines if line.startswith("event ")]
        self.totals = dict(line.split(" ", 1) for line in lines if not line.startswith(("event ", "trace ")))

    def of(self, provider):
        """The events of one provider."""
        return [event for event in self.events if event[0] == provider]


def hex_of(text):
    """A text as nettrace_dump shows it."""
    return text.encode().hex()


def ours(host, file):
    """A file as the project's reader sees it."""
    finished = host.run(needs.nettrace_dump(), file)
    return Reading(finished.stdout)


def theirs(tools, file):
    """A file as Microsoft's library sees it."""
    finished = tools.driver("events", file)
    if finished.code != 0:
        raise AssertionError(f"driver events: {finished.described}")
    return Reading(finished.stdout)


def _stack(provider, number, stack):
    left_out = provider == RUNDOWN or (provider == RUNTIME and int(number) in WITHOUT_STACKS)
    return "" if left_out else stack


def _opcode(name, opcode):
    """Microsoft's library takes the opcode from the name where there is none."""
    if opcode == "0":
        for ending, implied in (("start", "1"), ("stop", "2")):
            if name.lower().endswith(ending):
                return implied
    return opcode


def pairs(mine, others):
    """The events of both readings side by side, in an order of their own, without what Microsoft's library makes up or
    leaves out: the names of events that have none, opcodes, stacks, and processors of events about other threads."""
    without_name = {event[:2] for event in mine.events if event[2] == "-"}
    left, right = _comparable(mine, without_name), _comparable(others, without_name)
    for one, other in zip(left, right):
        yield one, other if one[-1] != "-" else (*other[:-1], "-")


def _comparable(reading, without_name):
    events = []
    for provider, number, name, time, before, processor, keywords, opcode, middle, stack, rest in reading.events:
        name = "-" if (provider, number) in without_name else name
        events.append((before, provider, number, name, time, keywords, _opcode(name, opcode), middle,
                       _stack(provider, number, stack), rest, processor))
    return sorted(events)
