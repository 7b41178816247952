"""Whatever else may dial a port for runtimes, and whatever else may be where the port should be."""

import os
import socket
import uuid

from harness import ipc, needs, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main
from harness.connect_port import ConnectPort, Impostor, advertise

# The agent's limit, and what a loaded machine may add to it.
CLOSED_WITHIN_SECONDS = 15
MANY = 300


def some_id():
    return str(uuid.uuid4())


class Strangers(Case):
    """One agent, and one runtime that is served whatever happens."""

    def setUp(self):
        self.port = ConnectPort(self.lab)
        empty = self.lab.new_directory(self.lab.far, "search")
        self.agent = self.use(self.lab.agent(*self.port.flags, search=[empty]))
        self.application = self.port.orders(words=",nosuspend")
        self.addCleanup(self.application.kill)
        self.runtime, = self.agent.wait_for(self.application)
        self.addCleanup(self.assert_served)

    def assert_served(self):
        """That the real runtime is listed as before, alone, and answers."""
        self.assertEqual(self.agent.wait_for(self.application), [self.runtime])
        answer = Api(self.lab).post(self.runtime["id"], ipc.process_info()).body
        self.assertEqual(ipc.parse_process_info(answer), (self.runtime["pid"], self.runtime["id"]))

    def warnings(self):
        """The warnings that it has logged."""
        return [line for line in self.agent.log().splitlines() if "warn" in line]

    def assert_one_warning(self, *words):
        wait.until(self.warnings, lambda: f"a warning\n{self.agent.log()}")
        warning, = self.warnings()
        for word in words:
            self.assertIn(word, warning)

    def dial(self, said=b""):
        impostor = Impostor(self.port.path, said)
        self.addCleanup(impostor.close)
        return impostor

    def assert_closed(self, *impostors):
        for impostor in impostors:
            self.assertTrue(impostor.is_closed(CLOSED_WITHIN_SECONDS))

    def test_garbage_is_closed_and_reported_once(self):
        self.assert_closed(*[self.dial(b"GET / HTTP/1.1\r\nHost: orders.example\r\n\r\n") for _ in range(50)])
        self.assert_one_warning("ADVR_V1", self.port.path)

    def test_half_an_advertise_is_closed_and_reported_once(self):
        impostors = [self.dial(advertise(some_id())[:20]) for _ in range(10)]
        for impostor in impostors:
            impostor.connection.shutdown(socket.SHUT_WR)
        self.assert_closed(*impostors)
        self.assert_one_warning("broke off")

    def test_silent_connections_are_closed_and_reported_once(self):
        half = advertise(some_id())[:20]
        self.assert_closed(*[self.dial() for _ in range(10)], *[self.dial(half) for _ in range(10)])
        self.assert_one_warning("in time")

    def test_a_flood_of_silent_connections_keeps_no_runtime_out(self):
        flood = [self.dial() for _ in range(MANY)]
        second = self.port.orders(words=",nosuspend")
        self.agent.wait_for(self.application, second)
        second.kill()
        self.agent.wait_for(self.application)
        self.assert_closed(*flood)
        flooded = [line for line in self.warnings() if "say nothing" in line]
        self.assertEqual(len(flooded), 1, self.warnings())

    def test_a_peer_that_only_looks_whether_the_socket_is_live_is_not_reported(self):
        self.dial().close()
        self.assert_served()
        self.assertEqual(self.warnings(), [])

    def test_a_listed_runtimes_identity_is_not_given_to_another_process(self):
        self.assert_closed(*[self.dial(advertise(self.runtime["id"])) for _ in range(5)])
        self.assert_one_warning(self.runtime["id"], f"process {self.application.pid_inside} of user 0",
                                "a process of user 0 that is not visible here")

    def test_a_runtime_that_advertises_one_identity_and_has_another_is_not_listed(self):
        advertised, own = some_id(), some_id()
        impostor = self.dial(advertise(advertised))
        impostor.answer_process_info(own)
        self.assert_one_warning(advertised, own)
        self.assert_closed(impostor)

    def test_many_that_advertise_and_never_answer_keep_no_runtime_out(self):
        crowd = [self.dial(advertise(some_id())) for _ in range(MANY)]
        second = self.port.orders(words=",nosuspend")
        self.agent.wait_for(self.application, second)
        second.kill()
        self.agent.wait_for(self.application)
        self.assert_closed(*crowd)
        crowded = [line for line in self.warnings() if "don't say who they are" in line]
        self.assertEqual(len(crowded), 1, self.warnings())

    def test_of_many_connections_of_one_runtime_a_few_are_kept(self):
        identity = some_id()
        first = self.dial(advertise(identity))
        first.answer_process_info(identity)
        impostors = [self.dial(advertise(identity)) for _ in range(20)]
        self.assert_closed(*impostors[:10])
        self.assertFalse(impostors[-1].is_closed())
        for impostor in impostors:
            impostor.close()
        self.agent.wait_for(self.application)

    def test_a_connection_on_which_a_runtime_speaks_out_of_turn_gets_no_command(self):
        identity = some_id()
        listed = self.agent.log().count("impostor (pid 1, ")
        first = self.dial(advertise(identity))
        first.answer_process_info(identity)
        loud = self.dial(advertise(identity) + b"and another thing")
        # It is listed for two seconds only, unless it dials again: asking takes longer on a busy machine.
        wait.until(lambda: self.agent.log().count("impostor (pid 1, ") > listed, self.agent.log)
        quiet = self.dial(advertise(identity))
        question = os.path.join(self.lab.near.directory, "question")
        with open(question, "wb") as file:
            file.write(ipc.process_info())
        command = self.lab.near.start(
            *Api(self.lab).curl("--data-binary", f"@{question}", f"{Api(self.lab).base}/v1/runtimes/{identity}/ipc"))
        self.assertEqual(quiet.connection.recv(4096), ipc.process_info())
        self.assert_closed(loud)
        quiet.close()
        command.wait()
        self.agent.wait_for(self.application)


class Places(Case):
    """What may be at the path already."""

    def setUp(self):
        self.port = ConnectPort(self.lab)

    def refuse(self, path=None):
        """Has an agent fail to start, and returns what it says."""
        finished = self.lab.far.run(
            needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen",
            f"{self.lab.far.address}:{PORT}", "--diagnostic-port", path or self.port.path)
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn(path or self.port.path, finished.stderr)
        return finished.stderr

    def test_a_socket_that_nobody_listens_on_is_replaced(self):
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(self.port.path)
        agent = self.use(self.lab.agent(*self.port.flags))
        application = self.port.orders(words=",nosuspend")
        agent.wait_for(application)
        application.kill()

    def test_a_file_that_is_no_socket_stays(self):
        with open(self.port.path, "w", encoding="ascii") as file:
            file.write("precious")
        self.assertIn("not a socket", self.refuse())
        with open(self.port.path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_socket_in_use_stays(self):
        with socket.socket(socket.AF_UNIX) as alive:
            alive.bind(self.port.path)
            alive.listen()
            self.assertIn("listens there already", self.refuse())
            self.assertTrue(os.path.exists(self.port.path))

    def test_another_users_socket_stays(self):
        with socket.socket(socket.AF_UNIX) as foreign:
            foreign.bind(self.port.path)
        os.chown(self.port.path, 65534, 65534)
        self.assertIn("user 65534", self.refuse())
        self.assertTrue(os.path.exists(self.port.path))

    def test_a_directory_that_is_missing_is_named(self):
        self.assertIn("volume", self.refuse(os.path.join(self.port.directory, "missing", "farport.sock")))

    def test_a_path_that_is_too_long_is_refused(self):
        self.assertIn("107", self.refuse(os.path.join(self.port.directory, "x" * 120)))

    def test_the_environment_names_several_and_they_are_removed_at_the_end(self):
        other = ConnectPort(self.lab)
        agent = self.use(self.lab.agent(environment={"FARPORT_DIAGNOSTIC_PORT": f"{self.port.path},{other.path}"}))
        applications = [port.orders(words=",nosuspend") for port in (self.port, other)]
        agent.wait_for(*applications)
        for application in applications:
            application.kill()
        agent.stop()
        self.assertFalse(os.path.exists(self.port.path) or os.path.exists(other.path))


if __name__ == "__main__":
    main()
