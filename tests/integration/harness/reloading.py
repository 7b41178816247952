"""What the tests of certificates that are replaced have in common."""

import hashlib
import os
import signal
import ssl

from harness import events, ipc, needs, sockets, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case
from harness.certificates import AGENT_NAME, Authority
from harness.secret import Secret, write

READ_AGAIN = "have been read again"
SILENT = "Nobody-Writes-To-This"


def fingerprint(path):
    """Of the first certificate in a file."""
    with open(path, encoding="ascii") as file:
        pem = file.read().partition("-----END CERTIFICATE-----")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem[0] + pem[1])).hexdigest()


class ReloadCase(Case):
    """An application, and certificates of two CAs."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.other = Authority(os.path.join(cls.lab.directory, "other-ca"))
        names = ("--dns", AGENT_NAME, "--ip", cls.lab.far.address)
        cls.next_agent_pair = cls.lab.authority.server("next", *names)
        cls.other_agent_pair = cls.other.server("agent", *names)
        cls.other_tools_pair = cls.other.client("tools")

    def files(self, pair, *authorities, crl=None):
        """What goes into a secret."""
        files = {"tls.crt": pair.cert, "tls.key": pair.key,
                 "ca.crt": [each.ca for each in authorities] or [pair.ca]}
        return files | ({"crl.pem": crl} if crl else {})

    def secret(self, host, files):
        """A mounted secret with these files."""
        secret = Secret(self.lab.new_directory(host, "secret"))
        secret.put(files)
        return secret

    def plain(self, host, pair):
        """A directory with the files themselves."""
        directory = self.lab.new_directory(host, "files")
        for name, sources in self.files(pair).items():
            write(os.path.join(directory, name), sources)
        return directory

    def pair_in(self, directory):
        """What is in such a directory, as a pair."""
        return Secret(directory).pair()

    def start_agent(self, pair, *flags, **options):
        """An agent that ends with the test."""
        return self.use(self.lab.agent(*flags, pair=pair, **options))

    def shown(self):
        """The fingerprint of the certificate that the agent shows."""
        api = Api(self.lab)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(api.pair.cert, api.pair.key)
        with context.wrap_socket(self.lab.near.connect(self.lab.far.address, PORT)) as connection:
            return hashlib.sha256(connection.getpeercert(binary_form=True)).hexdigest()

    def wait_until_read(self, process, times=1):
        """Waits until a program has taken over new files that often."""
        wait.until(lambda: process.stderr().count(READ_AGAIN) == times,
                   lambda: f"the files are read again, {times} times\n{process.output()}")

    def assert_shows(self, pair):
        """That the agent shows this certificate in its next handshake."""
        self.assertEqual(self.shown(), fingerprint(pair.cert))

    def assert_refused(self, pair, *words):
        """A client with this certificate gets nothing."""
        done = self.lab.near.run(needs.farport(), "ps", f"{self.lab.far.address}:{PORT}", *pair.flags())
        self.assertNotEqual(done.code, 0, done.described)
        for word in words:
            self.assertIn(word, done.text)

    def trusting(self, pair, *authorities):
        """The same certificate, with the CAs of these as trusted."""
        path = os.path.join(self.lab.new_directory(self.lab.near, "trust"), "ca.crt")
        write(path, [each.ca for each in authorities])
        trusting = type(pair)("", "", ca=path)
        trusting.cert, trusting.key = pair.cert, pair.key
        return trusting

    def start_mirror(self, pair, **options):
        """A mirror that ends with the test, and its row for the application."""
        mirror = self.use(self.lab.mirror(f"{self.lab.far.address}:{PORT}", pair=pair,
                                          directory=self.lab.new_directory(self.lab.near, "sockets"), **options))
        return mirror, mirror.wait_for(self.application)[0]

    def hold(self, row):
        """A tool with a session that is open."""
        tool = self.tools.start_driver("hold", row["local_pid"], SILENT)
        tool.wait_for_output("open True")
        return tool

    def assert_answers(self, row):
        """That the application answers through a mirror."""
        pid = ipc.parse_process_info(sockets.exchange(row["socket"], ipc.process_info()))[0]
        self.assertEqual(pid, self.application.pid_inside)

    def start_trace(self, row):
        """A recording through one mirror, under way."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        trace = self.tools.start_trace("collect", "--diagnostic-port", f"{row['socket']},connect", "--output", file)
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0,
                   lambda: f"the trace has begun\n{trace.output()}")
        return trace, file

    def assert_whole(self, trace, file):
        """Ends a recording and looks whether it has its end."""
        trace.send(signal.SIGINT)
        self.assertEqual(trace.wait(), 0, trace.output())
        self.assertTrue(events.holds_the_rundown(file), trace.output())
        self.assertTrue(self.tools.frames(file))
