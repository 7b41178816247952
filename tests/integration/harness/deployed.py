"""What the tests share that reach containers without farport in them: it brings itself along."""

import json
import signal

from harness import needs, wait
from harness.case import Case
from harness.containers import Podman
from harness.images import SHELL, Image
from harness.tools import QUIET

# How long an agent lingers here after its last session. podman takes its time to remove the container.
LINGER = "1s"


class Containers(Case):
    """What the tests share."""

    @classmethod
    def prepare(cls):
        cls.podman = Podman(cls.lab.far)
        cls.addClassCleanup(cls.podman.close)
        path = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin",)
        cls.podman.load(Image.of_orders(environment=path))
        cls.podman.load(Image.of_orders("shell", SHELL, path))

    def application(self, *flags, name="orders", image="localhost/orders"):
        """An application that nobody has prepared for anything: not root, without a shell."""
        self.podman.run("run", "--detach", "--name", name, "--network", "host", *flags, image, "--rate", "100",
                        "--discounts", "17", "--seconds", "3600")
        self.addCleanup(lambda: self.podman.run("rm", "--force", "--ignore", "--depend", "--time", "0", name))
        wait.until(lambda: "pricing" in self.podman.logs(name), lambda: self.podman.logs(name))

    def options(self):
        return {"enter": self.podman.enter, "environment": self.podman.path() | QUIET
                | {"FARPORT_STATIC_BINARY": needs.static_farport(), "XDG_RUNTIME_DIR": "", "FARPORT_LINGER": LINGER}}

    def farport(self, *arguments, **options):
        """Runs farport where podman is."""
        return self.lab.far.run(needs.farport(), *arguments, **(self.options() | options))

    def mirror(self, target, *flags):
        """A mirror where podman is, and the directory of its sockets."""
        directory = self.lab.new_directory(self.lab.far, "sockets")
        mirror = self.lab.far.start(needs.farport(), "connect", target, "--json", "--socket-dir", directory, *flags,
                                    **self.options())
        self.addCleanup(lambda: mirror.running() and mirror.kill())
        return mirror, directory

    def events(self, mirror, kind):
        """The runtimes that it has told of."""
        events = [json.loads(line) for line in mirror.stdout().splitlines(keepends=True) if line.endswith("\n")]
        return [event["runtime"] for event in events if event["event"] == kind]

    def stop(self, mirror):
        self.assertEqual(mirror.stop(signal.SIGINT), 0, mirror.output())
