"""Raw mode: any TLS client with a certificate can stand in for the mirror."""

import os
import select
import socket
import ssl

from harness import ipc, needs, proc, sockets, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import AGENT_NAME

PLAIN_PORT = 9001


class Raw(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(busy=True)
        cls.agent = cls.share(cls.lab.agent("--insecure-loopback", f"127.0.0.1:{PLAIN_PORT}=operator"))
        cls.agent.wait_for(cls.application)
        # Two runtimes, which have to be told apart by name.
        elsewhere = cls.lab.new_directory(cls.lab.far, "elsewhere")
        cls.second = cls.lab.orders(directory=elsewhere)
        cls.pair_port = PORT + 2
        cls.two = cls.share(cls.lab.agent("--runtime", f"first={cls.application.socket}", "--runtime",
                                          f"second={cls.second.socket}", port=cls.pair_port, search=[elsewhere]))
        cls.two.wait_for(cls.application, cls.second)
        pair = cls.lab.tools_pair
        cls.s_client = [needs.program("openssl"), "s_client", "-quiet", "-cert", pair.cert, "-key", pair.key, "-CAfile",
                        pair.ca, "-verify_return_error", "-verify_hostname", AGENT_NAME]
        cls.socat_options = (f"cert={pair.cert},key={pair.key},cafile={pair.ca},verify=1,"
                             f"commonname={AGENT_NAME}")

    def assert_answers_for(self, application, answer):
        self.assertEqual(ipc.parse_process_info(answer)[0], application.pid_inside)

    def ask_openssl(self, *arguments, message=None):
        return self.lab.near.pipe([*self.s_client, *arguments], message or ipc.process_info())[0]

    def trace_through(self, path):
        """A whole recording by dotnet-trace through a socket that another program offers."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace(
            "collect", "--diagnostic-port", f"{path},connect", "--duration", "00:00:02", "--output", file))
        self.assertTrue([frame for frame in self.tools.frames(file) if "Orders.Pricing.PriceOrder" in frame])

    def test_openssl_reaches_the_only_runtime_without_a_name(self):
        answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{PORT}", "-noservername")
        self.assert_answers_for(self.application, answer)

    def test_openssl_reaches_the_only_runtime_with_the_agents_host_name(self):
        answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{PORT}", "-servername", AGENT_NAME)
        self.assert_answers_for(self.application, answer)

    def test_the_name_of_a_runtime_that_is_not_there_never_means_another_one(self):
        for name in ("billing", "first", f"other.{AGENT_NAME}", str(self.second.pid_inside)):
            answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{PORT}", "-servername", name)
            self.assertNotEqual(ipc.parse_error(answer), 0, name)

    def test_the_server_name_says_which_of_two_runtimes(self):
        for name, application in (("first", self.application), ("second", self.second)):
            answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{self.pair_port}", "-servername", name)
            self.assert_answers_for(application, answer)

    def test_without_a_name_two_runtimes_are_refused_in_the_protocols_words(self):
        answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{self.pair_port}", "-noservername")
        self.assertNotEqual(ipc.parse_error(answer), 0)

    def test_an_answer_with_a_continuation_arrives_whole(self):
        answer = self.ask_openssl("-connect", f"{AGENT_NAME}:{PORT}", "-noservername",
                                  message=ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
        announced = int.from_bytes(ipc.parse(answer)[2][:4], "little")
        self.assertEqual(len(answer) - ipc.HEADER_BYTES - len(ipc.parse(answer)[2]), announced)

    def test_socat_reaches_the_runtime(self):
        answer, _ = self.lab.near.pipe(
            [needs.program("socat"), "-t", "10", "-", f"OPENSSL:{AGENT_NAME}:{PORT},{self.socat_options}"],
            ipc.process_info())
        self.assert_answers_for(self.application, answer)

    def test_dotnet_trace_records_through_socat(self):
        path = os.path.join(self.lab.new_directory(self.lab.near, "socat"), "orders.sock")
        socat = self.lab.near.start(needs.program("socat"), f"UNIX-LISTEN:{path},fork",
                                    f"OPENSSL:{AGENT_NAME}:{PORT},{self.socat_options}")
        self.addCleanup(socat.kill)
        wait.until(lambda: os.path.exists(path), "socat listens")
        self.trace_through(path)

    def test_dotnet_trace_records_through_stunnel(self):
        directory = self.lab.new_directory(self.lab.near, "stunnel")
        path = os.path.join(directory, "orders.sock")
        pair = self.lab.tools_pair
        configuration = os.path.join(directory, "stunnel.conf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f"foreground = yes\npid =\n[orders]\nclient = yes\naccept = {path}\n"
                       f"connect = {self.lab.far.address}:{PORT}\ncert = {pair.cert}\nkey = {pair.key}\n"
                       f"CAfile = {pair.ca}\nverifyChain = yes\ncheckHost = {AGENT_NAME}\n")
        stunnel = self.lab.near.start(needs.program("stunnel"), configuration)
        self.addCleanup(stunnel.kill)
        wait.until(lambda: os.path.exists(path), lambda: f"stunnel listens\n{stunnel.output()}")
        self.trace_through(path)

    def test_an_identity_that_no_rule_allows_gets_access_denied(self):
        stranger = self.lab.authority.client("stranger")
        context = ssl.create_default_context(cafile=stranger.ca)
        context.load_cert_chain(stranger.cert, stranger.key)
        context.check_hostname = False
        with context.wrap_socket(self.lab.near.connect(self.lab.far.address, PORT)) as connection:
            connection.sendall(ipc.process_info())
            answer = connection.recv(4096)
        self.assertEqual(ipc.parse_error(answer), ipc.ACCESS_DENIED)
        wait.until(lambda: "stranger" in self.agent.log(), "the agent names who it was")

    def test_plain_tcp_serves_on_loopback(self):
        answer, _ = self.lab.far.pipe(
            [needs.program("socat"), "-t", "10", "-", f"TCP:127.0.0.1:{PLAIN_PORT}"], ipc.process_info())
        self.assert_answers_for(self.application, answer)

    def test_plain_tcp_is_not_served_on_any_other_address(self):
        with self.assertRaises(ConnectionRefusedError):
            self.lab.near.connect(self.lab.far.address, PLAIN_PORT)

    def test_plain_tcp_is_not_served_unless_asked_for(self):
        self.assertFalse(proc.listens(self.two.process.pid, PLAIN_PORT + 2))
        self.assertNotIn("without TLS", self.two.log())

    def test_plain_tcp_on_another_address_than_loopback_is_a_wrong_configuration(self):
        for address in (self.lab.far.address, "0.0.0.0"):
            finished = self.lab.far.run(
                needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen", "127.0.0.1:9010",
                "--insecure-loopback", f"{address}:9011")
            self.assertEqual(finished.code, 2, finished.described)
            self.assertIn(address, finished.stderr)

    def test_the_client_may_take_its_time_to_read_the_end(self):
        # stunnel takes a closed TCP connection for the end, and drops what it has not read by then: the agent
        # says in TLS that it has finished, and leaves it to the client to close.
        pair = self.lab.tools_pair
        context = ssl.create_default_context(cafile=pair.ca)
        context.load_cert_chain(pair.cert, pair.key)
        with context.wrap_socket(self.lab.near.connect(self.lab.far.address, PORT), server_hostname=AGENT_NAME,
                                 suppress_ragged_eofs=False) as connection:
            connection.sendall(ipc.process_info())
            self.assert_answers_for(self.application, sockets.read_to_end(connection))
            poll = select.poll()
            poll.register(connection, select.POLLRDHUP)
            self.assertEqual(poll.poll(300), [], "the agent has closed the TCP connection first")
            connection.unwrap().close()

    def test_half_close_by_the_client_does_not_cut_the_answer(self):
        connection = self.lab.far.connect("127.0.0.1", PLAIN_PORT)
        connection.sendall(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        connection.close()
        announced = int.from_bytes(ipc.parse(answer)[2][:4], "little")
        self.assertGreaterEqual(len(answer), announced)


if __name__ == "__main__":
    main()
