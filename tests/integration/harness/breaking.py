"""A lab whose session can be broken in every way: an agent, a mirror that reaches it through a proxy, one that
reaches it directly, and a runtime that the test plays."""

from harness import wait
from harness.case import Case
from harness.exchange import Exchange
from harness.network import Network
from harness.proxy import Proxy
from harness.scripted import ScriptedRuntime

# Silence is noticed soon, since the tests wait for it, but not where a busy machine holds a sanitized agent up.
QUICK_PINGS = ("--ping-interval", "500ms", "--ping-timeout", "1s")


class Breaking(Case):
    """Override GRACE where the time that a connection waits for its session matters."""

    GRACE = "30s"
    PINGS = QUICK_PINGS

    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.flags = ("--grace", cls.GRACE, *cls.PINGS)
        cls.runtime = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.runtime.stop)
        cls.agent = cls.start_agent()
        cls.addClassCleanup(lambda: cls.agent.stop())
        cls.proxy = Proxy(cls.lab)
        cls.proxied = cls.start_mirror(cls.proxy.remote, "proxied")
        cls.direct = cls.start_mirror(cls.agent.remote, "direct")

    @classmethod
    def start_agent(cls, **options):
        return cls.lab.agent(*cls.flags, **options)

    @classmethod
    def start_mirror(cls, remote, name):
        mirror = cls.share(cls.lab.mirror(remote, flags=cls.flags, directory=cls.lab.new_directory(cls.lab.near, name)))
        mirror.wait_for(cls.runtime)
        return mirror

    def setUp(self):
        self.addCleanup(self.heal)

    def heal(self):
        """Whatever a test has broken works again for the next one."""
        self.network.mend()
        if not self.proxy.process.running():
            self.proxy.start()
        self.proxy.tell("go")
        for mirror in (self.proxied, self.direct):
            if mirror.process.running():
                wait.until(lambda: mirror.states()[-1], lambda: f"the session is up\n{mirror.process.output()}")

    def socket_of(self, mirror):
        """Where tools reach the runtime; the placeholder may have been replaced."""
        return mirror.wait_for(self.runtime)[0]["socket"]

    def exchange(self, mirror, **options):
        """A session with streams both ways."""
        exchange = Exchange(self.runtime, self.socket_of(mirror), **options)
        self.addCleanup(exchange.close)
        return exchange

    def restart_proxy(self):
        """Kills the proxy: the kernel ends what went through it. It is there again soon."""
        self.proxy.kill()
        self.proxy.start()

    def darken_until_noticed(self, mirror, **directions):
        """Packets are lost, and nobody says so, until the mirror has noticed by itself."""
        before = len(mirror.states())
        with self.network.dark(**directions):
            mirror.wait_for_break(before)
