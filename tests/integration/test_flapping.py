"""Runtimes, agents and mirrors that come and go faster than anybody would like, and clients that hang up abruptly."""

import os
import socket
import ssl
import struct

from harness import ipc, needs, proc, sockets, wait
from harness.case import Case, main
from harness.certificates import AGENT_NAME
from harness.exchange import HEAD_BYTES, read_exactly
from harness.scripted import ScriptedRuntime

ROUNDS = 10


class Flapping(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.good = cls.mirror.wait_for(cls.application)[0]["socket"]

    def assert_good_one_serves(self):
        answer = sockets.exchange(self.good, ipc.process_info())
        self.assertEqual(ipc.parse_process_info(answer)[0], self.application.pid_inside)

    def test_a_runtime_that_comes_and_goes_at_the_same_place(self):
        pids = self.agent.process.pid, self.mirror.process.pid
        before = [proc.open_files(pid) for pid in pids]
        for _ in range(ROUNDS):
            runtime = ScriptedRuntime(self.lab)
            row = self.mirror.wait_for(self.application, runtime)[1]
            self.assertEqual(ipc.parse_process_info(sockets.exchange(row["socket"], ipc.process_info()))[0],
                             runtime.pid_inside)
            runtime.stop()
            self.mirror.wait_for(self.application)
        self.assert_good_one_serves()
        wait.until(lambda: [proc.open_files(pid) for pid in pids] <= before, "nothing is left open")

    def test_a_runtime_that_goes_while_tools_ask_it(self):
        for _ in range(ROUNDS):
            runtime = ScriptedRuntime(self.lab)
            row = self.mirror.wait_for(self.application, runtime)[1]
            tool = sockets.connect(row["socket"])
            tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            asked = runtime.next()
            asked.begin_session(1)
            runtime.stop()
            self.assertEqual(ipc.parse_session(read_exactly(tool, HEAD_BYTES)), 1)
            self.assertEqual(sockets.read_to_end(tool), b"")
            tool.close()
            self.mirror.wait_for(self.application)
        self.assert_good_one_serves()

    def test_mirrors_that_come_and_go(self):
        files = proc.open_files(self.agent.process.pid)
        for number in range(ROUNDS):
            directory = self.lab.new_directory(self.lab.near, "passing")
            mirror = self.lab.mirror(self.agent.remote, directory=directory)
            mirror.wait_for(self.application)
            if number % 2 == 0:
                mirror.stop()
            else:
                mirror.process.kill()
        wait.until(lambda: proc.open_files(self.agent.process.pid) <= files, "no session is left")
        self.assert_good_one_serves()


class AbortiveClose(Case):
    """Clients of raw mode that reset their connection."""

    @classmethod
    def prepare(cls):
        cls.runtime = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.runtime.stop)
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.runtime)
        cls.context = ssl.create_default_context(cafile=cls.lab.tools_pair.ca)
        cls.context.load_cert_chain(cls.lab.tools_pair.cert, cls.lab.tools_pair.key)

    def client(self):
        return self.context.wrap_socket(self.lab.near.connect(self.lab.far.address, self.agent.port),
                                        server_hostname=AGENT_NAME)

    def reset(self, client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

    def test_in_the_middle_of_a_stream(self):
        client = self.client()
        client.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
        asked = self.runtime.next()
        asked.begin_session(31)
        asked.connection.sendall(os.urandom(100_000))
        client.recv(1000)
        self.reset(client)
        wait.until(lambda: self.runtime.stopped == [31], lambda: f"it is stopped, not {self.runtime.stopped}")
        self.assert_closed(asked.connection)

    def test_before_the_answer(self):
        client = self.client()
        client.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
        asked = self.runtime.next()
        self.reset(client)
        self.assert_closed(asked.connection)

    def test_in_every_state_of_many(self):
        files = proc.open_files(self.agent.process.pid)
        message = ipc.process_info()
        for number in range(40):
            client = self.client()
            client.sendall(message[:(0, 5, len(message))[number % 3]])
            self.reset(client)
        wait.until(lambda: proc.open_files(self.agent.process.pid) <= files, "nothing is left open")
        done = self.lab.near.run(needs.farport(), "ps", self.agent.remote, *self.lab.tools_pair.flags())
        self.assert_ok(done)

    def assert_closed(self, connection):
        connection.settimeout(15)
        try:
            self.assertEqual(sockets.read_to_end(connection), b"")
        except ConnectionResetError:
            pass
        connection.close()


if __name__ == "__main__":
    main()
