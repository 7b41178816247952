"""What a hostile runtime writes: recordings (nettrace, format 4) that are right in form, and made to use up whoever reads
them."""

import struct

SAMPLES = "Microsoft-DotNETCore-SampleProfiler"
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
        """Each is (what it is defined by, thread, stack, payload), whose size is a multiple of four."""
        content = bytearray(struct.pack("<HHqq", 20, 0, 0, 0))
        for metadata, thread, stack, payload in events:
            content += struct.pack("<IIIQQIIq16s16sI", 76 + len(payload), metadata, 0, thread, thread, 0, stack, 1000,
                                   bytes(16), bytes(16), len(payload)) + payload
        self._object(name, bytes(content))

    def define(self, metadata, provider, event):
        """Says what an event is."""
        name = "" if len(provider) % 2 else "x"
        payload = (struct.pack("<I", metadata) + _text(provider) + struct.pack("<I", event) + _text(name) +
                   struct.pack("<QIII", 0xFFFF, 1, 4, 0))
        self._events("MetadataBlock", [(0, 0, 0, payload)])

    def stack(self, number, addresses):
        """Tells one stack."""
        content = struct.pack(f"<III{len(addresses)}Q", number, 1, 8 * len(addresses), *addresses)
        self._object("StackBlock", content)

    def events(self, events):
        """Tells events."""
        self._events("EventBlock", events)


def stacks(threads=20_000, frames=100_000):
    """One long stack, of very many threads."""
    recording = Recording()
    recording.define(1, SAMPLES, 0)
    recording.stack(1, list(range(0x1000, 0x1000 + frames)))
    for first in range(0, threads, 500):
        recording.events([(1, thread, 1, struct.pack("<I", 2)) for thread in range(first + 1, first + 501)])
    return bytes(recording.bytes) + NULL

