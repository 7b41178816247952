"""A runtime whose part the test itself plays, a connection at a time."""

import os
import queue
import socket
import struct
import threading
import uuid

from harness import ipc, wait


def _answer(payload=b""):
    return ipc.message(ipc.SERVER, ipc.OK, payload)


def _read_message(connection):
    data = b""
    while len(data) < ipc.HEADER_BYTES or len(data) < struct.unpack_from("<H", data, 14)[0]:
        missing = (struct.unpack_from("<H", data, 14)[0] if len(data) >= ipc.HEADER_BYTES else ipc.HEADER_BYTES)
        part = connection.recv(missing - len(data))
        if not part:
            return None
        data += part
    return data


class Asked:
    """A connection on which a command has come that the test is to answer."""

    def __init__(self, connection, message):
        self.connection, self.message = connection, message

    def refuse(self, hresult, text):
        """Answers that the command has failed, as newer commands may say why."""
        self.connection.sendall(ipc.message(ipc.SERVER, ipc.ERROR, struct.pack("<I", hresult) + ipc.string(text)))

    def begin_session(self, number):
        """Answers that the session with this id has begun."""
        self.connection.sendall(_answer(struct.pack("<Q", number)))


class ScriptedRuntime:
    """Listens at the place of a default diagnostic port. It says who it is when asked, and takes note of the
    sessions that it is told to stop; every other command is for the test: next()."""

    def __init__(self, lab, pid=4712, name="scripted"):
        self.pid_inside = pid
        self.name = name
        self.stopped = []  # the sessions' ids, as StopTracing named them
        self.answers_stops = True
        self.socket = f"{lab.far.tmp}/dotnet-diagnostic-{pid}-1-socket"
        self._asked = queue.Queue()
        self._connections = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.socket)
        os.chmod(self.socket, 0o600)
        self._listener.listen(256)
        self._accepting = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while self._accepting:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            message = _read_message(connection)
            if message is None:
                return connection.close()
            self._take(connection, message)
        except OSError:
            connection.close()
        return None

    def _take(self, connection, message):
        answer = self._known(message)
        if answer is None:
            self._connections.append(connection)
            self._asked.put(Asked(connection, message))
        elif answer:
            connection.sendall(answer)
            connection.close()
        else:
            self._connections.append(connection)

    def _known(self, message):
        command_set, command, payload = ipc.parse(message)
        if command_set == ipc.PROCESS and command in (ipc.PROCESS_INFO, ipc.PROCESS_INFO_3):
            return _answer(self._process_info(command))
        if command_set == ipc.PROCESS and command == ipc.RESUME_RUNTIME:
            return _answer()
        if (command_set, command) == (ipc.EVENT_PIPE, ipc.STOP_TRACING):
            self.stopped.append(struct.unpack("<Q", payload)[0])
            return _answer(payload) if self.answers_stops else b""
        return None

    def _process_info(self, command):
        identity = struct.pack("<Q", self.pid_inside) + uuid.UUID(int=self.pid_inside).bytes_le
        basic = identity + ipc.string(f"dotnet {self.name}.dll") + ipc.string("Linux") + ipc.string("x64")
        if command == ipc.PROCESS_INFO:
            return basic
        return struct.pack("<I", 1) + basic + ipc.string(self.name) + ipc.string("10.0.0") + ipc.string("linux-x64")

    def next(self, seconds=wait.LONGEST_SECONDS):
        """The next connection that asks for something."""
        try:
            return self._asked.get(timeout=seconds)
        except queue.Empty:
            raise wait.TooLate(f"nobody asked the runtime anything for {seconds:g} s") from None

    def nobody_asks(self, seconds):
        """Whether no command comes in that time."""
        try:
            self._asked.get(timeout=seconds)
            return False
        except queue.Empty:
            return True

    def stop_accepting(self):
        """Leaves it to listen, and takes one more connection at most."""
        self._accepting = False
        self._listener.listen(1)

    def stop(self):
        """Ends it, with all its connections."""
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        for connection in self._connections:
            connection.close()
        os.unlink(self.socket)
