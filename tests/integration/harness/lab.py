"""The lab: two hosts that see each other over one cable, and nothing else in common."""

import itertools
import os
import shutil
import subprocess
import tempfile

from harness import unprivileged
from harness.agent import Agent
from harness.certificates import AGENT_NAME, Authority
from harness.host import Host
from harness.leaks import Leaks
from harness.mirror import Mirror
from harness.orders import Orders


class Lab:
    """`far` is the runtimes' host, `near` the tools'. Use it as a context; leaving it ends and removes all."""

    def __init__(self):
        if os.geteuid() != 0:
            raise RuntimeError("network namespaces take root: run scripts/test, or sudo")
        self.directory = tempfile.mkdtemp(prefix="fpt-", dir="/tmp")
        # Other users must be able to reach their directories in it.
        os.chmod(self.directory, 0o1777 if unprivileged.enabled() else 0o755)
        self.sanitizer_log = os.path.join(self.directory, "sanitizer")
        self.leaks = Leaks()
        self.started = []
        self._numbers = itertools.count(1)
        self._hosts = []
        try:
            self.far = self._add_host("far", 1)
            self.near = self._add_host("near", 2)
            self._connect()
            self.near.know(AGENT_NAME, self.far.address)
            self.authority = Authority(os.path.join(self.directory, "ca"))
            self.agent_pair = self.authority.server(
                "agent", "--dns", AGENT_NAME, "--ip", self.far.address, "--ip", self.far.address6)
            self.tools_pair = self.authority.client("tools")
        except BaseException:
            self.close()
            raise

    def _add_host(self, name, number):
        host = Host(self, name, f"10.77.0.{number}", f"fd77::{number}")
        self._hosts.append(host)
        return host

    def _connect(self):
        subprocess.run(["ip", "link", "add", "cable", "netns", self.far.network, "type", "veth",
                        "peer", "name", "cable", "netns", self.near.network], check=True)
        for host in self._hosts:
            commands = ("link set lo up", "link set cable up", f"address add {host.address}/24 dev cable",
                        f"address add {host.address6}/64 dev cable nodad")
            subprocess.run(["ip", "-netns", host.network, "-batch", "-"], input="\n".join(commands), text=True, check=True)

    def new_log(self, name):
        """The beginning of file names for a process's output."""
        return os.path.join(self.directory, f"{next(self._numbers):03}-{name}")

    def new_directory(self, host, name):
        """An empty directory on a host."""
        path = os.path.join(host.directory, f"{name}-{next(self._numbers)}")
        os.mkdir(path)
        unprivileged.give(path, host.user)
        return path

    def orders(self, *flags, **options):
        """Starts the sample application on the far host."""
        return Orders(self.far, *flags, **options)

    def agent(self, *flags, **options):
        """Starts an agent on the far host."""
        return Agent(self, *flags, **options)

    def mirror(self, *remotes, **options):
        """Starts a mirror on the near host."""
        return Mirror(self, *remotes, **options)

    def logs(self):
        """What the programs have printed, and the sanitizers' reports."""
        return "\n".join(process.output() for process in self.started) + "".join(
            self.sanitizer_reports().values())

    def sanitizer_reports(self, but=()):
        """The sanitizers' reports so far, by the names of their files; none is good."""
        reports = {}
        for name in sorted(os.listdir(self.directory)):
            if name.startswith("sanitizer.") and name not in but:
                with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
                    reports[name] = file.read()
        return reports

    def close(self):
        """Ends every process and removes every trace of the lab."""
        for host in self._hosts:
            host.close()
        for process in self.started:
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
