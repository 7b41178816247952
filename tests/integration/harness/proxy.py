"""A TCP proxy that can be told to break what goes through it: as a module the test's handle on it, as a program
the proxy itself."""

import asyncio
import contextlib
import os
import signal
import socket
import struct
import sys

CHUNK = 256 * 1024


class Relay:
    """The program. It is told by words on a Unix socket, one a connection, and answers with how many connections
    it has done it to."""

    def __init__(self, target):
        self.target = target
        self.open = set()
        self.going = asyncio.Event()
        self.going.set()

    async def carry(self, reader, writer):
        """Carries one direction to its end."""
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(CHUNK):
                await self.going.wait()
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    async def accept(self, reader, writer):
        """Carries one connection, both ways."""
        try:
            there, onward = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, onward)
        self.open.add(pair)
        await asyncio.gather(self.carry(reader, onward), self.carry(there, writer))
        self.open.discard(pair)
        for end in pair:
            end.close()

    def end(self, prepare):
        """Closes all connections at both sides, after `prepare` has been done to each."""
        ended = list(self.open)
        self.open.clear()
        for end in (end for pair in ended for end in pair):
            prepare(end)
        return len(ended)

    def do(self, word):
        """Does what a word says."""
        if word == "reset":
            return self.end(_reset)
        if word == "close":
            return self.end(lambda end: end.transport.close())
        (self.going.clear if word == "stall" else self.going.set)()
        return len(self.open)

    async def obey(self, reader, writer):
        """Takes one word."""
        done = self.do((await reader.readline()).decode().strip())
        writer.write(f"{done}\n".encode())
        await writer.drain()
        writer.close()

    async def serve(self, port, control):
        """Listens, for ever."""
        await asyncio.start_unix_server(self.obey, control)
        server = await asyncio.start_server(self.accept, None, port, limit=CHUNK)
        await server.serve_forever()


def _reset(end):
    with contextlib.suppress(OSError):
        end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.transport.abort()


class Proxy:
    """A proxy on the far host: tools' connections to `port` go on to the agent's."""

    def __init__(self, lab, port=9001, target=9000):
        self.lab = lab
        self.port, self.target = port, target
        self.control = os.path.join(lab.far.directory, f"proxy-{port}")
        self.process = None
        self.start()

    @property
    def remote(self):
        """HOST:PORT, for a mirror."""
        return f"{self.lab.far.address}:{self.port}"

    def start(self):
        """Starts it, anew if it was killed."""
        from harness import proc, wait  # the program itself has no need of them
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.control)
        self.process = self.lab.far.start("/usr/bin/python3", "-B", os.path.abspath(__file__), self.port,
                                          self.lab.far.address, self.target, self.control, name="proxy")
        wait.until(lambda: os.path.exists(self.control) and proc.listens(self.process.pid, self.port),
                   lambda: f"the proxy listens\n{self.process.output()}")

    def tell(self, word):
        """Has it do something: reset, close, stall, go. Returns how many connections it has done it to."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.control)
            connection.sendall(f"{word}\n".encode())
            return int(connection.makefile().readline())

    def kill(self):
        """Kills it: the kernel ends its connections."""
        self.process.kill()

    def stop(self):
        """Ends it."""
        self.process.stop(signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(Relay((sys.argv[2], int(sys.argv[3]))).serve(int(sys.argv[1]), sys.argv[4]))
