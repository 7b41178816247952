"""What another local user does to an agent: a program, which the tests run as that user.

hostile_user.py KIND DIRECTORY COUNT"""

import ctypes
import mmap
import os
import resource
import selectors
import socket
import struct
import subprocess
import sys
import time
import uuid

SERVER_OK = b"DOTNET_IPC_V1\0"
MIB = 1024 * 1024


def socket_name(number):
    """The file name of the runtime with this pid."""
    return f"dotnet-diagnostic-{number}-1-socket"


def _listen(directory, number, backlog=16):
    listener = socket.socket(socket.AF_UNIX)
    listener.setblocking(False)
    listener.bind(os.path.join(directory, socket_name(number)))
    listener.listen(backlog)
    return listener


def _ready():
    print("ready", flush=True)


def _stay():
    _ready()
    while True:
        time.sleep(60)


def stale(directory, count):
    """Sockets on which nobody listens."""
    for number in range(count):
        _listen(directory, number).close()
    _stay()


def silent(directory, count):
    """Sockets that take connections and never answer."""
    listeners = [_listen(directory, number) for number in range(count)]
    _stay()
    return listeners


def manifests(directory, count):
    """Manifests of a megabyte each, beside sockets that they don't list."""
    text = b"/tmp/dotnet-diagnostic-1000000-1-socket\n" * (MIB // 40)
    # Names that lead to the same megabyte: what is read is read as often as there are names.
    first = os.path.join(directory, f".farport-mirror-{os.getpid()}-0")
    with open(first, "wb") as file:
        file.write(text)
    for number in range(1, count):
        os.link(first, os.path.join(directory, f".farport-mirror-{os.getpid()}-{number}"))
    for number in range(200):
        _listen(directory, 100_000 + number).close()
    _stay()


def oddities(directory, count):
    """Pipes, links to devices, directories and files with sockets' and manifests' names."""
    for number in range(count):
        for stem in (socket_name(200_000 + number), f".farport-mirror-{os.getpid()}-{number}"):
            path = os.path.join(directory, stem)
            kind = number % 4
            if kind == 0:
                os.mkfifo(path)
            elif kind == 1:
                os.symlink("/dev/zero", path)
            elif kind == 2:
                os.mkdir(path)
            else:
                open(path, "wb").close()
    _stay()


def churn(directory, count):
    """Makes and removes sockets without a pause."""
    _ready()
    numbers = 0
    while True:
        for number in range(count):
            _listen(directory, 300_000 + number + numbers % 7).close()
        for number in range(count):
            os.unlink(os.path.join(directory, socket_name(300_000 + number + numbers % 7)))
        numbers += count


def _message(payload):
    return SERVER_OK + struct.pack("<HBBH", 20 + len(payload), 0xFF, 0, 0) + payload


def _text(text):
    units = (text + "\0").encode("utf-16-le")
    return struct.pack("<I", len(units) // 2) + units


def _info(number, long_text):
    """Who it is: a runtime that has just started, whose environment is asked for."""
    words = "x" * 5000 if long_text else "orders"
    return _message(struct.pack("<IQ16s", 1, number, uuid.uuid5(uuid.NAMESPACE_OID, str(number)).bytes_le)
                    + _text(words) + _text("Linux") + _text("x64") + _text(words) + _text("10.0") + _text(words))


def runtimes(directory, count):
    """Runtimes whose texts are long, and whose environment is announced as 16 MiB and comes as zeros."""
    selector = selectors.DefaultSelector()
    for number in range(count):
        selector.register(_listen(directory, 400_000 + number), selectors.EVENT_READ, number)
    zeros = bytes(64 * 1024)
    unsent = {}
    _ready()
    while True:
        for key, events in selector.select(1):
            if isinstance(key.data, int):
                connection, _ = key.fileobj.accept()
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ, (key.data,))
                continue
            connection = key.fileobj
            try:
                if events & selectors.EVENT_READ:
                    question = connection.recv(4096)
                    if not question:
                        raise BrokenPipeError
                    if question[17:18] == b"\x02":
                        unsent[connection] = 16 * MIB
                        connection.send(_message(struct.pack("<IH", 16 * MIB, 0)))
                        selector.modify(connection, selectors.EVENT_WRITE, key.data)
                    else:
                        connection.send(_info(key.data[0], True))
                elif unsent[connection] > 0:
                    unsent[connection] -= connection.send(zeros)
            except OSError:
                selector.unregister(connection)
                unsent.pop(connection, None)
                connection.close()


def environment(_, count):
    """A process whose environment is as many MiB as the kernel can be told."""
    size = count * MIB
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    field = lambda number: int(fields[number - 3])
    values = [field(26), field(27), field(45), field(46), field(47), field(47), field(28), field(48), field(49),
              address, address + size]
    layout = struct.pack("<11QQII", *values, 0, 0, 0xFFFFFFFF)
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_SET_MM, PR_SET_MM_MAP.
    if libc.prctl(35, 14, ctypes.c_char_p(layout), ctypes.c_ulong(len(layout)), 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    seen = os.open("/proc/self/environ", os.O_RDONLY)
    if len(os.pread(seen, 10, size - 1)) != 1:
        raise RuntimeError("the environment is not as large as that")
    _stay()


def environments(_, count):
    """Processes with an environment of 2 MB each."""
    variables = {f"V{number}": "x" * 100_000 for number in range(19)}
    processes = [subprocess.Popen(["sleep", "infinity"], env=variables, executable="/bin/sleep")
                 for _ in range(count)]
    _stay()
    return processes


KINDS = (stale, silent, manifests, oddities, churn, runtimes, environment, environments)


def main():
    """Does one kind of it until it is ended."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kind, directory, count = sys.argv[1:]
    next(each for each in KINDS if each.__name__ == kind)(directory, int(count))


if __name__ == "__main__":
    main()
