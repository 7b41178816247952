"""What a hostile runtime writes: recordings (nettrace, format 4) that are right in form, and made to use up whoever reads
them."""

import os
import pathlib
import struct

SAMPLES = "Microsoft-DotNETCore-SampleProfiler"
RUNTIME = "Microsoft-Windows-DotNETRuntime"
METERS = "System.Diagnostics.Metrics"
LOGGING = "Microsoft-Extensions-Logging"
INT32, TEXT = 9, 18
TRACE_OBJECT = struct.pack("<8HqqIIII", 2026, 11, 0, 22, 3, 4, 5, 678, 1000, 1_000_000_000, 8, 4711, 3, 1_000_000)
BEGIN, END, NULL = b"\5", b"\6", b"\1"


def _text(text):
    return text.encode("utf-16-le") + b"\0\0"


class Recording:
    """One that is being written."""

    def __init__(self):
        self.bytes = bytearray(b"Nettrace" + struct.pack("<I", 20) + b"!FastSerialization.1")
        self._object("Trace", TRACE_OBJECT)

    def _object(self, name, content):
        trace = name == "Trace"
        self.bytes += BEGIN + BEGIN + NULL + struct.pack("<III", *((4, 4) if trace else (2, 0)), len(name)) + name.encode() + END
        if not trace:
            self.bytes += struct.pack("<I", len(content))
            self.bytes += bytes(-len(self.bytes) % 4)
        self.bytes += content + END

    def _events(self, name, events):
        """Each is (what it is defined by, thread, stack, payload)."""
        content = bytearray(struct.pack("<HHqq", 20, 0, 0, 0))
        for metadata, thread, stack, payload in events:
            content += struct.pack("<IIIQQIIq16s16sI", 76 + len(payload), metadata, 0, thread, thread, 0, stack, 1000,
                                   bytes(16), bytes(16), len(payload)) + payload
        self._object(name, bytes(content))

    def define(self, metadata, provider, event, name="", **fields):
        """Says what an event is: its fields' types, by their names."""
        payload = (struct.pack("<I", metadata) + _text(provider) + struct.pack("<I", event) + _text(name) +
                   struct.pack("<QIII", 0xFFFF, 1, 4, len(fields)))
        for field, kind in fields.items():
            payload += struct.pack("<I", kind) + _text(field)
        self._events("MetadataBlock", [(0, 0, 0, payload)])

    def repeated(self, event, times):
        """Tells one event many times, each of which takes two bytes and its payload (header compression)."""
        metadata, thread, stack, payload = event
        first = b"\xff" + bytes((metadata,)) + b"\x01" + bytes((thread,)) + b"\x01" + bytes((thread,)) + bytes((stack,)) + b"\x05"
        first += bytes(32) + bytes((len(payload),)) + payload
        content = struct.pack("<HHqq", 20, 1, 0, 0) + first + (b"\x00\x00" + payload) * (times - 1)
        self._object("EventBlock", content)

    def stack(self, number, addresses):
        """Tells one stack."""
        content = struct.pack(f"<III{len(addresses)}Q", number, 1, 8 * len(addresses), *addresses)
        self._object("StackBlock", content)

    def events(self, events):
        """Tells events."""
        self._events("EventBlock", [(*event[:3], event[3] + bytes(-len(event[3]) % 4)) for event in events])


def _stacks(_, threads=20_000, frames=4_000):
    """One long stack, of very many threads."""
    recording = Recording()
    recording.define(1, SAMPLES, 0)
    recording.stack(1, list(range(0x1000, 0x1000 + frames)))
    for first in range(0, threads, 500):
        recording.events([(1, thread, 1, struct.pack("<I", 2)) for thread in range(first + 1, first + 501)])
    return bytes(recording.bytes) + NULL


def _heap(mebibytes):
    """A heap without an end: each object has a type of its own, and refers to others."""
    recording = Recording()
    recording.define(1, RUNTIME, 1)
    recording.define(2, RUNTIME, 18)
    recording.define(3, RUNTIME, 19)
    recording.events([(1, 1, 0, struct.pack("<IIIIHQ", 5, 2, 1, 0, 0, 0))])
    number, rows = 0, 1500
    while len(recording.bytes) < mebibytes << 20:
        nodes = b"".join(struct.pack("<QQQQ", 0x1000 + 64 * (number + row), 24, 0x7000 + 8 * (number + row), 2) for row in range(rows))
        edges = b"".join(struct.pack("<QI", 0x1000 + 64 * (number + row // 2), 0) for row in range(2 * rows))
        recording.events([(2, 1, 0, struct.pack("<IIH", number // rows, rows, 0) + nodes),
                          (3, 1, 0, struct.pack("<IIH", number // rows, 2 * rows, 0) + edges)])
        number += rows
    return bytes(recording.bytes) + NULL


HISTOGRAM = dict.fromkeys(("sessionId", "meterName", "meterVersion", "instrumentName", "unit", "tags", "quantiles", "count", "sum"), TEXT)


def _quantiles(mebibytes):
    """Histograms, each of another name, with thousands of quantiles."""
    recording = Recording()
    recording.define(1, METERS, 7, "HistogramValuePublished", **HISTOGRAM)
    spread = ";".join(f"0.{number}=1" for number in range(3000))
    number = 0
    while len(recording.bytes) < mebibytes << 20:
        values = ("SHARED", "System.Runtime", "", f"spread{number}", "", "", spread, "5", "9")
        recording.events([(1, 1, 0, b"".join(map(_text, values)))])
        number += 1
    return bytes(recording.bytes) + NULL


def _series(mebibytes):
    """Counters, each of another name and long tags."""
    recording = Recording()
    fields = dict.fromkeys(("sessionId", "meterName", "meterVersion", "instrumentName", "unit", "tags", "rate", "value"), TEXT)
    recording.define(1, METERS, 4, "CounterRateValuePublished", **fields)
    number = 0
    while len(recording.bytes) < mebibytes << 20:
        recording.events([(1, 1, 0, b"".join(map(_text, ("SHARED", "System.Runtime", "", f"placed{number + each}", "", f"tag={'x' * 400}", "1",
                                                         "7")))) for each in range(50)])
        number += 50
    return bytes(recording.bytes) + NULL


def _notices(mebibytes):
    """Errors that the runtime has to tell of its meters, each another one."""
    recording = Recording()
    recording.define(1, METERS, 9, "ObservableInstrumentCallbackError", sessionId=TEXT, errorMessage=TEXT)
    number = 0
    while len(recording.bytes) < mebibytes << 20:
        recording.events([(1, 1, 0, _text("SHARED") + _text(f"error {number + each} {'x' * 500}")) for each in range(50)])
        number += 50
    return bytes(recording.bytes) + NULL


def _threads(mebibytes):
    """Each event is of another thread."""
    recording = Recording()
    recording.define(1, SAMPLES, 0)
    recording.stack(1, [0x1000])
    number = 1
    while len(recording.bytes) < mebibytes << 20:
        recording.events([(1, number + each, 1, struct.pack("<I", 2)) for each in range(500)])
        number += 500
    return bytes(recording.bytes) + NULL


def _exceptions(_, times=400_000):
    """Exceptions with thousands of frames each, of which each takes twenty bytes of the recording."""
    recording = Recording()
    recording.define(1, RUNTIME, 80)
    recording.stack(1, list(range(0x1000, 0x5000, 4)))
    for _ in range(10):
        recording.repeated((1, 1, 1, _text("") + _text("") + struct.pack("<QIH", 0, 1, 0)), times // 10)
    return bytes(recording.bytes) + NULL


def _logs(mebibytes):
    """Entries of 60 KB, many a second."""
    recording = Recording()
    recording.define(1, LOGGING, 5, "MessageJson", Level=INT32, FactoryID=INT32, LoggerName=TEXT, EventId=INT32, EventName=TEXT,
                     ExceptionJson=TEXT, ArgumentsJson=TEXT, FormattedMessage=TEXT)
    while len(recording.bytes) < mebibytes << 20:
        payload = (struct.pack("<II", 5, 1) + _text("Orders") + struct.pack("<I", 1) + _text("") + _text("[" * 8000) +
                   _text('{"a":' * 2000) + _text("x\n" * 8000))
        recording.events([(1, 1, 0, payload)])
    return bytes(recording.bytes) + NULL


_ALL = {"stacks": _stacks, "heap": _heap, "quantiles": _quantiles, "series": _series, "notices": _notices, "threads": _threads,
        "exceptions": _exceptions, "logs": _logs}


def make(name, mebibytes):
    """The recording of this name, of so many MiB where it has no end of its own."""
    return _ALL[name](mebibytes)


def recorded(host, name, mebibytes):
    """A file with it."""
    file = os.path.join(host.directory, f"{name}.nettrace")
    pathlib.Path(file).write_bytes(make(name, mebibytes))
    return file
