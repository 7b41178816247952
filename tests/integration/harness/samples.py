"""Profiles as an agent sends them (docs/developers/wire.md, "Profiles"), read anew: not with the code that is tested."""

MAGIC = b"FPS1"
START, THREAD, CALL, SAMPLE, LOST, MAPPING, SYMBOL, NOTE, END = range(1, 10)
ENDS = ("time over", "stopped", "process ended", "failed")
KERNEL = 1 << 63
ALL = (1 << 64) - 1


class _Fields:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def more(self):
        return self.at < len(self.data)


class Samples:
    """A whole stream, or what there is of one. `samples`: (nanoseconds, thread, frames), the innermost frame first; a
    frame is a name, or (file, address in it)."""

    def __init__(self, data):
        assert data.startswith(MAGIC), data[:40]
        self.frequency = self.clock = self.kernel = self.end = None
        self.threads, self.lost, self.notes, self.mappings, self.symbols = {}, 0, [], [], []
        self._calls, self._raw = [(0, 0)], []
        self._address = self._time = 0
        fields = _Fields(data)
        fields.at = len(MAGIC)
        while fields.more():
            kind, size = data[fields.at], None
            fields.at += 1
            size = fields.number()
            record = _Fields(data[fields.at:fields.at + size])
            fields.at += size
            if fields.at > len(data):
                break
            self._read(kind, record)

    def _read(self, kind, record):
        if kind == START:
            self.frequency, self.clock, self.kernel = record.number(), record.number(), bool(record.number())
        elif kind == THREAD:
            thread = record.number()
            self.threads[thread] = record.text()
        elif kind == CALL:
            caller = record.number()
            self._address = (self._address + record.signed()) & ALL
            self._calls.append((caller, self._address))
        elif kind == SAMPLE:
            self._time += record.signed()
            self._raw.append((self._time, record.number(), record.number()))
        elif kind == LOST:
            self.lost += record.number()
        elif kind == MAPPING:
            start, size = record.number(), record.number()
            self.mappings.append((start, start + size, record.number(), record.text(), record.text()))
        elif kind == SYMBOL:
            start, size = record.number(), record.number()
            self.symbols.append((start, start + size, record.text(), record.text()))
        elif kind == NOTE:
            self.notes.append(record.text())
        elif kind == END:
            self.end = ENDS[record.number()]

    def addresses(self, call):
        """Of a call and its callers, the innermost first."""
        while call:
            call, address = self._calls[call]
            yield address

    def frame(self, address):
        for start, end, name, _ in self.symbols:
            if start <= address < end:
                return name
        for start, end, inside, path, _ in self.mappings:
            if start <= address < end:
                return path, address - start + inside
        return None, address

    @property
    def samples(self):
        return [(time, thread, [self.frame(address) for address in self.addresses(call)])
                for time, thread, call in self._raw]

    def names(self):
        """All functions that are in some stack."""
        return {frame for _, _, stack in self.samples for frame in stack if isinstance(frame, str)}

    def kernel_addresses(self):
        return [address for _, address in self._calls if address >= KERNEL]
