"""A program: an HTTP proxy that knows CONNECT, and can be told to be a bad one."""

import argparse
import asyncio
import contextlib

ANSWERS = {"refuse": b"HTTP/1.1 403 Forbidden \x1b[2J\r\n\r\n", "nonsense": b"\x1b[2J what?\r\n\r\n", "close": b""}


async def copy(reader, writer):
    """Carries one direction to its end."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


class Proxy:
    """Connects to what it is asked for; names are those it has been given."""

    def __init__(self, options):
        self.names = dict(name.split("=", 1) for name in options.names)
        self.password = options.password
        self.answer = options.answer
        self.delay = options.delay

    async def accept(self, reader, writer):
        """Serves one client."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self.serve(reader, writer)
        writer.close()

    async def serve(self, reader, writer):
        """From the request to the end of what is carried."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if self.answer == "endless":
            writer.write(b"HTTP/1.1 200 OK\r\n")
            while not writer.is_closing():
                writer.write(b"X: y\r\n" * 1000)
                await writer.drain()
        if self.answer:
            writer.write(ANSWERS[self.answer])
            await writer.drain()
            return
        if self.password and f"Proxy-Authorization: Basic {self.password}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        asked = head.split()[1]
        host, port = asked.rsplit(":", 1)
        host, port = self.names.get(host, f"{host}:{port}").rsplit(":", 1)
        there, onward = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        # What the other side says first is seldom there at once.
        await asyncio.sleep(self.delay)
        await asyncio.gather(copy(reader, onward), copy(there, writer))
        onward.close()


async def run():
    """Serves until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("names", nargs="*", help="NAME=HOST:PORT")
    parser.add_argument("--password", help="base64 of NAME:PASSWORD")
    parser.add_argument("--delay", type=float, default=0, help="seconds before anything is carried")
    parser.add_argument("--answer", choices=["refuse", "nonsense", "endless", "close"])
    options = parser.parse_args()
    server = await asyncio.start_server(Proxy(options).accept, "", options.port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(run())
