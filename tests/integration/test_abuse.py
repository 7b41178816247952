"""Peers that are slow, silent or malformed, and very many of them: the agent goes on, and its memory returns."""

import os
import socket
import ssl
import time

from harness import ipc, needs, proc, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.flood import client_hello

LIMIT_SECONDS = 1.0
# The limit, and what a loaded machine may add to it.
CLOSED_WITHIN_SECONDS = 4.0
CONNECTIONS = 1000


class Abuse(Case):
    @classmethod
    def prepare(cls):
        configuration = os.path.join(cls.lab.far.directory, "farport.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f'[limits]\nhandshake_timeout = "{LIMIT_SECONDS:g}s"\n'
                       f'first_message_timeout = "{LIMIT_SECONDS:g}s"\n')
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--log-level", "warn"))
        cls.agent.wait_for(cls.application)
        cls.context = ssl.create_default_context(cafile=cls.lab.tools_pair.ca)
        cls.context.load_cert_chain(cls.lab.tools_pair.cert, cls.lab.tools_pair.key)
        cls.context.check_hostname = False

    def tearDown(self):
        super().tearDown()
        self.agent.wait_for(self.application)

    def connect(self):
        return self.lab.near.connect(self.lab.far.address, PORT)

    def connect_tls(self, *protocols):
        context = self.context
        if protocols:
            context = ssl.create_default_context(cafile=self.lab.tools_pair.ca)
            context.load_cert_chain(self.lab.tools_pair.cert, self.lab.tools_pair.key)
            context.check_hostname = False
            context.set_alpn_protocols(protocols)
        return context.wrap_socket(self.connect())

    def assert_closed(self, connection, within=CLOSED_WITHIN_SECONDS):
        """That the agent closes the connection, whatever it says before."""
        connection.settimeout(within)
        try:
            while connection.recv(65536):
                pass
        except (ConnectionError, ssl.SSLError):
            pass
        connection.close()

    def assert_drip_is_closed(self, connection, data):
        """That sending a byte now and then does not keep the connection open."""
        deadline = time.monotonic() + CLOSED_WITHIN_SECONDS
        connection.settimeout(0.1)  # between the bytes
        try:
            for byte in data * 100:
                self.assertLess(time.monotonic(), deadline, "it is still open")
                connection.sendall(bytes([byte]))
                try:
                    if connection.recv(4096) == b"":
                        break
                except TimeoutError:
                    pass
        except (ConnectionError, ssl.SSLError):
            pass
        connection.close()

    def test_a_peer_that_says_nothing_is_closed(self):
        connection = self.connect()
        self.assert_closed(connection)
        wait.until(lambda: "handshake in time" in self.agent.log(), "the agent says why")

    def test_a_handshake_of_a_byte_now_and_then_is_closed(self):
        self.assert_drip_is_closed(self.connect(), client_hello(self.context))

    def test_a_first_message_of_a_byte_now_and_then_is_closed_and_never_reaches_the_runtime(self):
        self.assert_drip_is_closed(self.connect_tls(), ipc.process_info()[:-1])

    def test_a_raw_client_that_says_nothing_after_the_handshake_is_closed(self):
        self.assert_closed(self.connect_tls())

    def test_garbage_instead_of_a_handshake_is_closed(self):
        for garbage in (os.urandom(512), b"\x16\x03\x01\xff\xff" + os.urandom(512), b"\x00" * 600):
            connection = self.connect()
            connection.sendall(garbage)
            self.assert_closed(connection)

    def test_garbage_after_the_handshake_of_a_raw_connection_is_closed(self):
        connection = self.connect_tls()
        connection.sendall(os.urandom(4096))
        self.assert_closed(connection)

    def test_a_raw_message_whose_size_lies_is_closed(self):
        for size in (0, 1, 19):
            connection = self.connect_tls()
            message = bytearray(ipc.process_info())
            message[14:16] = size.to_bytes(2, "little")
            connection.sendall(message)
            self.assert_closed(connection)

    def test_garbage_instead_of_http2_is_closed(self):
        for garbage in (os.urandom(4096), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(4096)):
            connection = self.connect_tls("h2")
            self.assertEqual(connection.selected_alpn_protocol(), "h2")
            connection.sendall(garbage)
            self.assert_closed(connection)

    def test_silent_peers_do_not_keep_the_others_from_being_served(self):
        idle = [self.connect() for _ in range(100)] + [self.connect_tls() for _ in range(20)]
        began = time.monotonic()
        self.assertEqual(len(self.agent.runtimes()), 1)
        self.assertLess(time.monotonic() - began, CLOSED_WITHIN_SECONDS)
        for connection in idle:
            connection.close()

    def open_and_drop(self, count):
        """Opens connections and drops them: before, in the middle of and after the handshake, with and without a
        reset."""
        hello = client_hello(self.context)
        for number in range(count):
            kind = number % 4
            if kind == 3:
                connection = self.connect_tls("h2")
            else:
                connection = self.connect()
                connection.sendall(hello[:(0, 64, len(hello))[kind]])
            if number % 8 < 4:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()

    def settle(self, files):
        """Waits until the agent has as many files open as before."""
        pid = self.agent.process.pid
        wait.until(lambda: proc.open_files(pid) <= files,
                   lambda: f"{files} open files, not {proc.open_files(pid)}")

    def test_a_thousand_connections_opened_and_dropped_leave_no_file_and_no_memory_behind(self):
        pid = self.agent.process.pid
        files = proc.open_files(pid)
        # What the first ones bring with them (caches, arenas) is not a leak.
        self.open_and_drop(CONNECTIONS // 4)
        self.settle(files)
        before = proc.memory_kib(pid)
        self.open_and_drop(CONNECTIONS)
        self.settle(files)
        # AddressSanitizer keeps what was freed, for a while.
        allowance_kib = 64 * 1024 if needs.is_sanitized() else 2 * 1024
        self.assertLess(proc.memory_kib(pid) - before, allowance_kib)


if __name__ == "__main__":
    main()
