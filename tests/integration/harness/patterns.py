"""Long streams whose every byte is known by its place, sent and checked by threads of the test."""

import random
import threading
import time

from harness import wait

# A prime, and larger than any window: what is lost or doubled never fits by accident.
_PERIOD = 4_194_319
PIECE = 64 * 1024


class Pattern:
    """The bytes of one direction of one connection, told apart by a number."""

    def __init__(self, number):
        block = random.Random(number).randbytes(_PERIOD)
        self._block = memoryview(block + block[:PIECE])
        self._whole = block

    def piece(self, offset, size):
        """At most PIECE bytes from `offset` on."""
        start = offset % _PERIOD
        return self._block[start:start + size]

    def explain(self, offset, data):
        """Says what is wrong with `data`, which came where `offset` is."""
        expected = bytes(self.piece(offset, len(data)))
        at = next(i for i in range(len(data)) if data[i] != expected[i])
        found = self._whole.find(data[at:at + 32])
        if found < 0:
            return f"byte {offset + at} begins something that is nowhere in the stream: {data[at:at + 32].hex()}"
        skipped = (found - (offset + at)) % _PERIOD
        doubled = _PERIOD - skipped
        what = f"{doubled} bytes are doubled" if doubled < skipped else f"{skipped} bytes are missing"
        return f"at byte {offset + at}, {what}"


class Sending(threading.Thread):
    """Sends `total` bytes of a pattern (without end if None), at most `rate` a second, until stop()."""

    def __init__(self, connection, pattern, total=None, rate=None, finish=True):
        super().__init__(daemon=True)
        self.sent = 0
        self.error = None
        self._connection, self._pattern, self._finish = connection, pattern, finish
        self._total, self._rate = total, rate
        self._stopped = threading.Event()
        self.start()

    def run(self):
        began = time.monotonic()
        try:
            while not self._stopped.is_set() and self.sent != self._total:
                size = PIECE if self._total is None else min(PIECE, self._total - self.sent)
                self.sent += self._connection.send(self._pattern.piece(self.sent, size))
                if self._rate:
                    self._stopped.wait(max(0.0, began + self.sent / self._rate - time.monotonic()))
            if self._finish:
                self._connection.shutdown(1)
        except OSError as error:
            self.error = error

    def stop(self):
        """Ends the stream after what has been sent."""
        self._stopped.set()

    def finished(self, seconds=wait.LONGEST_SECONDS):
        """Waits until all is sent, and returns how much it was."""
        self.join(seconds)
        if self.is_alive() or self.error:
            raise AssertionError(f"sending stopped after {self.sent} bytes: {self.error or 'it hangs'}")
        return self.sent


class Receiving(threading.Thread):
    """Checks what comes against a pattern, to its end. While pause() holds, nothing is read."""

    def __init__(self, connection, pattern):
        super().__init__(daemon=True)
        self.received = 0
        self.error = None  # of the connection
        self.wrong = None  # what is wrong with the content
        self._connection, self._pattern = connection, pattern
        self._going = threading.Event()
        self._going.set()
        self.start()

    def run(self):
        buffer = bytearray(PIECE)
        view = memoryview(buffer)
        try:
            while size := self._connection.recv_into(buffer):
                if self.wrong is None and view[:size] != self._pattern.piece(self.received, size):
                    self.wrong = self._pattern.explain(self.received, bytes(view[:size]))
                self.received += size
                self._going.wait()
        except OSError as error:
            self.error = error

    def pause(self):
        """Stops reading."""
        self._going.clear()

    def go_on(self):
        """Reads again."""
        self._going.set()

    def ended(self, seconds=wait.LONGEST_SECONDS):
        """Waits for the end, and returns the connection's error, None for a proper end. Wrong content fails."""
        self.join(seconds)
        if self.wrong or self.is_alive():
            raise AssertionError(f"after {self.received} bytes: {self.wrong or 'the end does not come'}")
        return self.error

    def whole(self, total, seconds=wait.LONGEST_SECONDS):
        """Waits for the end, and checks that all came, once, and properly ended."""
        error = self.ended(seconds)
        if error or self.received != total:
            raise AssertionError(f"{self.received} bytes of {total} came; {error or 'then a clean end'}")
