"""The Debian package on a booted systemd: from `apt install` to `apt purge`."""

import os
import pathlib
import shutil
import signal

from harness import needs, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.containers import Podman
from harness.debian import Debian

# An application as packages bring them: a user that is made for it, and a /tmp of its own.
APPLICATION = """
[Service]
DynamicUser=yes
PrivateTmp=yes
Environment=DOTNET_ROOT={root} DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1
Type=exec
ExecStart=/opt/orders/orders --discounts 17 --seconds 3600
"""
CONFIGURATION = """
listen = ["{address}:{port}"]
[tls]
cert = "agent.crt"
key = "agent.key"
ca = "ca.crt"
[runtimes]
search = ["proc", "/tmp"]
[allow]
cn = ["tools=admin"]
[audit]
to = "/var/log/farport/audit.jsonl"
"""
# What the package's tests can't wait for.
IMPATIENT = "[Service]\nWatchdogSec=2s\n"


class Package(Case):
    @classmethod
    def prepare(cls):
        cls.podman = Podman(cls.lab.far)
        cls.addClassCleanup(cls.podman.close)
        cls.debian = Debian(cls.podman, cls.lab)
        cls.addClassCleanup(cls.debian.close)
        # A chroot has no daemons to start.
        cls.debian.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        cls.before = cls.debian.files()
        cls.install()
        cls.start()

    @classmethod
    def install(cls):
        shutil.copy(needs.debian_package(), cls.debian.root / "tmp/farport.deb")
        cls.debian.chroot("apt-get", "install", "--yes", "--no-install-recommends", "/tmp/farport.deb")

    @classmethod
    def start(cls):
        root, application = needs.dotnet_root(), os.path.dirname(needs.orders())
        cls.debian.write("/etc/systemd/system/orders.service", APPLICATION.format(root=root))
        # Not below /tmp, wherever the sources are: the application has one of its own.
        cls.debian.boot("--volume", f"{root}:{root}:ro", "--volume", f"{application}:/opt/orders:ro")
        cls.debian.run("systemctl", "start", "orders")
        cls.put_certificates(cls.lab.agent_pair)
        cls.debian.write("/etc/farport/agent.toml", CONFIGURATION.format(address=cls.lab.far.address, port=PORT), 0o600)
        cls.debian.write("/etc/systemd/system/farport.service.d/impatient.conf", IMPATIENT)
        cls.debian.run("systemctl", "daemon-reload")
        cls.debian.run("systemctl", "enable", "--now", "farport")

    @classmethod
    def put_certificates(cls, pair):
        for source, name in ((pair.cert, "agent.crt"), (pair.key, "agent.key"), (pair.ca, "ca.crt")):
            cls.debian.write(f"/etc/farport/{name}", pathlib.Path(source).read_text(encoding="ascii"), 0o600)

    def listed(self):
        # Asked often, and so not among what is printed when a test fails.
        return self.lab.near.pipe([needs.farport(), "ps", f"{self.lab.far.address}:{PORT}", *self.lab.tools_pair.flags()], b"")[0]

    def wait_until_listed(self):
        wait.until(lambda: b"orders" in self.listed(), self.journal)

    def journal(self):
        return self.debian.tried("journalctl", "--unit", "farport", "--no-pager", "--output", "export")[1]

    def property(self, name):
        return self.debian.run("systemctl", "show", "farport", "--property", name, "--value").strip()

    def test_1_a_trace_goes_on_while_certificates_are_rotated(self):
        self.wait_until_listed()
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        trace = self.lab.near.start(needs.farport(), "trace", f"{self.lab.far.address}:{PORT}/orders", "-o", file,
                                    *self.lab.tools_pair.flags())
        self.addCleanup(trace.stop)
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, trace.output)
        fresh = self.lab.authority.server("renewed", "--ip", self.lab.far.address)
        self.put_certificates(fresh)
        self.debian.run("systemctl", "reload", "farport")
        wait.until(lambda: "renewed" in self.journal(), self.journal)
        self.assertEqual(self.property("ActiveState"), "active")
        self.assertEqual(trace.stop(signal.SIGINT, 60), 0, trace.output())
        self.assertTrue(any("Orders.Pricing" in frame for frame in self.tools.frames(file)))
        self.assertEqual(self.property("NRestarts"), "0")

    def test_2_its_lines_have_one_time_and_their_priority(self):
        entries = [entry for entry in self.journal().split("\n\n") if "_COMM=farport" in entry]
        listening, = [entry for entry in entries if "MESSAGE=listening on" in entry]
        self.assertIn("\nPRIORITY=6\n", listening)
        # What the unit takes away, the agent does not miss.
        self.assertNotRegex(self.journal(), "cannot give up|can't be used")

    def test_3_it_has_no_rights_that_it_needs_not(self):
        text = self.debian.run("systemd-analyze", "security", "farport", "--no-pager", "--threshold=30")
        self.assertIn("farport.service", text)
        self.debian.run("systemd-analyze", "security", "--offline=true", "--threshold=20",
                        "/lib/systemd/system/farport@.service", "--no-pager")

    def test_4_a_dump_comes_home(self):
        self.wait_until_listed()
        file = os.path.join(self.lab.new_directory(self.lab.near, "dump"), "orders.dmp")
        self.assert_ok(self.lab.near.run(needs.farport(), "dump", f"{self.lab.far.address}:{PORT}/orders", "-o", file, "--type",
                                         "mini", *self.lab.tools_pair.flags()))
        self.assertGreater(os.path.getsize(file), 0)

    def test_5_one_that_stands_still_is_started_again(self):
        self.debian.run("systemctl", "kill", "--signal=STOP", "farport")
        wait.until(lambda: self.property("NRestarts") == "1" and self.property("ActiveState") == "active",
                   lambda: self.property("ActiveState") + self.journal())
        self.wait_until_listed()

    def test_6_systemd_opens_the_port(self):
        self.debian.run("systemctl", "stop", "farport")
        configuration = CONFIGURATION.partition("[tls]")
        self.debian.write("/etc/farport/agent.toml", "socket_activation = true\n[tls]" + configuration[2], 0o600)
        self.debian.run("systemctl", "start", "farport.socket")
        self.assertEqual(self.property("ActiveState"), "inactive")
        self.wait_until_listed()
        self.assertEqual(self.property("ActiveState"), "active")

    def test_7_purging_it_leaves_nothing(self):
        self.assertTrue(self.debian.files() - self.before)
        self.debian.run("apt-get", "purge", "--yes", "farport")
        self.assertNotEqual(self.debian.tried("systemctl", "cat", "farport")[0], 0)
        self.debian.run("systemctl", "stop", "orders")
        left = {path for path in self.debian.files() - self.before if "farport" in path}
        self.assertEqual(left, set())


if __name__ == "__main__":
    main()
