"""What a soak does, again and again: each job is one thing of its kind, and raises where it goes wrong."""

import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import time

from harness import dumps, ipc, needs, sockets, wait
from harness.patterns import PIECE

# What silence costs: longer than the ping's timeout, so that a session breaks, and much shorter than the grace period.
SILENCE_SECONDS = 1.5
GARBAGE = (b"\0" * 600, b"\x16\x03\x01\xff\xff" + b"\xaa" * 512, b"GET / HTTP/1.1\r\n\r\n",
           b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

# What farport says when a break has met its first session.
NOT_REACHED = ("connect to", "open a session with", "complete the TLS handshake with", "the session", "cannot write to", "cannot read from")


class Jobs:
    """The jobs of a soak. `lab` has an agent, a mirror that reaches it through a proxy, two real applications, a silent
    one, and a fake runtime whose sessions never end."""

    def __init__(self, soak):
        self.soak = soak
        self.lab, self.tools = soak.lab, soak.tools
        self.random = random.Random(soak.seed)

    def row_of(self, runtime):
        """The mirror's row: its placeholder may be another one each time."""
        rows = [row for row in self.soak.mirror.rows() if row["pid"] == runtime.pid_inside]
        if not rows:
            raise AssertionError(f"the mirror does not show {runtime.pid_inside}")
        return rows[0]

    def scratch(self):
        """A directory for one job."""
        return self.lab.new_directory(self.lab.near, "job")

    def expect_success(self, done):
        """Fails with all that a program has said."""
        if done.code != 0:
            raise AssertionError(done.described)
        return done

    # Tools

    def recording(self):
        """A recording by dotnet-trace, of which no event is missing but for what the runtime has dropped."""
        directory = self.scratch()
        file = os.path.join(directory, "x.nettrace")
        application = self.random.choice(self.soak.applications)
        self.expect_success(self.tools.trace(
            "collect", "-p", self.row_of(application)["local_pid"], "--providers", "Orders:0xffffffffffffffff:5",
            "--duration", "00:00:04", "-o", file, seconds=90))
        self.expect_whole(self.expect_success(self.tools.driver("read", file)).values())
        shutil.rmtree(directory)

    def session(self):
        """A session by the client library."""
        pid = self.row_of(self.random.choice(self.soak.applications))["local_pid"]
        self.expect_whole(self.expect_success(self.tools.driver("session", pid, 3, seconds=90)).values())

    def expect_whole(self, values):
        if values["whole"] != "True" or int(values["missing"]) > int(values["dropped"]):
            raise AssertionError(f"not whole: {values}")

    def abandoned_session(self):
        """A tool that is killed in a silent session."""
        tool = self.tools.start_driver("hold", self.row_of(self.soak.silent)["local_pid"], "Silent")
        wait.until(lambda: not tool.running() or "open True" in tool.stdout(), "a session begins", 90)
        if not tool.running():
            raise AssertionError(tool.output())
        tool.kill()

    def abandoned_flood(self):
        """A tool that reads a little of an endless stream and goes."""
        with sockets.connect(self.row_of(self.soak.fake)["socket"], 90) as tool:
            tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            for _ in range(50):
                tool.recv(PIECE)

    def command(self):
        """A command of each kind that answers."""
        application = self.random.choice(self.soak.applications)
        path = self.row_of(application)["socket"]
        answer = sockets.exchange(path, ipc.process_info(), 90)
        if ipc.parse_process_info(answer)[0] != application.pid_inside:
            raise AssertionError("another process has answered")
        environment = sockets.exchange(path, ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT), 90)
        if ipc.parse_environment(environment)["ORDERS_SHOP"] != "north":
            raise AssertionError("not this application's environment")

    def farport(self, *arguments):
        """A command of farport's own. It does not dial again where its first session does not come about: a break may
        meet it then, but not three times in a row."""
        for _ in range(3):
            done = self.lab.near.run(needs.farport(), *arguments, *self.lab.tools_pair.flags(), seconds=90)
            if done.code == 0 or not any(words in done.described for words in NOT_REACHED):
                break
            time.sleep(1)
        self.expect_success(done)

    def listing(self):
        """farport ps."""
        self.farport("ps", self.soak.agent.remote, "--json")

    def dump_by_mirror(self):
        """A dump as a tool asks for it."""
        directory = self.scratch()
        path = os.path.join(directory, "x.dmp")
        pid = self.row_of(self.soak.applications[0])["local_pid"]
        self.expect_success(self.tools.driver("dump", pid, "Normal", path, seconds=90))
        dumps.core_notes(path)
        shutil.rmtree(directory)

    def dump_by_farport(self):
        """A dump without any tool."""
        directory = self.scratch()
        path = os.path.join(directory, "x.dmp")
        self.farport("dump", f"{self.soak.proxy.remote}/{self.soak.applications[1].pid_inside}", "--type", "mini",
                     "-o", path)
        dumps.core_notes(path)
        shutil.rmtree(directory)

    def abandoned_dump(self):
        """A dump that nobody waits for."""
        directory = self.scratch()
        tool = self.lab.near.start(
            needs.farport(), "dump", f"{self.soak.agent.remote}/{self.soak.fake.pid_inside}", "-o",
            os.path.join(directory, "x.dmp"), *self.lab.tools_pair.flags())
        time.sleep(self.random.uniform(0, 0.3))  # somewhere on its way
        tool.send(signal.SIGINT)
        tool.wait(30)
        shutil.rmtree(directory)

    # Comings and goings

    def passing_runtime(self):
        """An application that ends, or is killed, with a session open."""
        application = self.lab.orders()
        wait.until(lambda: application.pid_inside in [row["pid"] for row in self.soak.mirror.rows()],
                   "a new application is shown", 60)
        with sockets.connect(self.row_of(application)["socket"], 90) as tool:
            tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            tool.recv(PIECE)
            if self.random.random() < 0.5:
                application.stop()
            else:
                application.kill()
                os.unlink(application.socket)
            with contextlib.suppress(OSError):
                sockets.read_to_end(tool)

    def passing_mirror(self):
        """Another mirror, which is stopped or killed."""
        from harness.mirror import Mirror
        directory = self.scratch()
        mirror = Mirror(self.lab, self.soak.agent.remote, flags=self.soak.flags, directory=directory)
        wait.until(lambda: len(mirror.rows()) >= 4, lambda: f"it shows all\n{mirror.process.output()}", 60)
        if self.random.random() < 0.5:
            mirror.stop()
        else:
            mirror.process.kill()
        shutil.rmtree(directory)

    # The network

    def break_session(self):
        """The session breaks in one way or another, and comes back."""
        kinds = {
            "reset": lambda: self.soak.network.reset(self.soak.proxy.port),
            "reset at the proxy": lambda: self.soak.proxy.tell("reset"),
            "close at the proxy": lambda: self.soak.proxy.tell("close"),
            "proxy killed": self._kill_proxy,
            "black hole": lambda: self._silence(self.soak.network.dark()),
            "cable out": lambda: self._silence(self.soak.network.unplugged()),
        }
        kinds[self.random.choice(sorted(kinds))]()
        wait.until(lambda: self.soak.mirror.states()[-1], "the session is up again", 60)

    def _kill_proxy(self):
        self.soak.proxy.kill()
        self.soak.proxy.start()

    def _silence(self, away):
        with away:
            time.sleep(SILENCE_SECONDS * self.random.uniform(0.3, 1.5))  # how long it is away

    # Certificates

    def rotate(self):
        """Certificates and keys are replaced by others of the same names, in place, and the agent is told."""
        rotated = ((self.soak.agent_pair, self.soak.agent_pairs), (self.soak.mirror_pair, self.soak.tools_pairs))
        for pair, others in rotated:
            other = self.random.choice(others)
            shutil.copyfile(other.cert, pair.cert)
            shutil.copyfile(other.key, pair.key)
        if self.random.random() < 0.5:
            self.soak.agent.process.send(signal.SIGHUP)

    # Peers that mean no good

    def bad_peers(self):
        """Some of each kind."""
        for garbage in GARBAGE:
            self._with_peer(lambda peer, said=garbage: (peer.sendall(said), peer.settimeout(0.2), peer.recv(100)))
        self._with_peer(lambda peer: peer.sendall(self.soak.client_hello[:60]))
        self._with_peer(lambda peer: (peer.sendall(self.soak.client_hello), peer.settimeout(0.2), peer.recv(100)))
        for _ in range(20):
            self._with_peer(lambda peer: peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)))
        for protocols in ((), ("h2",), ("nonsense",)):
            with contextlib.suppress(OSError):
                self._bad_client(protocols)

    def _with_peer(self, do):
        with contextlib.suppress(OSError):
            with self.lab.near.connect(self.lab.far.address, self.soak.agent.port, 5) as peer:
                do(peer)

    def _bad_client(self, protocols):
        context = self.soak.context(protocols)
        with context.wrap_socket(self.lab.near.connect(self.lab.far.address, self.soak.agent.port, 5)) as peer:
            peer.sendall(os.urandom(1000))
            peer.settimeout(0.5)
            peer.recv(1000)

    def bad_tools(self):
        """Tools that talk nonsense, too little, or leave at once."""
        path = self.row_of(self.soak.applications[0])["socket"]
        session = ipc.session(ipc.COLLECT_TRACING + 1)
        for said in (b"", b"\0" * 100, session[:10], session[:30], session, b"\xff" * 5000):
            with contextlib.suppress(OSError), sockets.connect(path) as tool:
                tool.sendall(said)
