"""`farport serve`."""

import re

from harness import http2, needs, proc, unprivileged, wait
from harness.http2 import PORT

# The gate has tests of its own.
ALLOW_TOOLS = ("--allow-cn", "tools=admin")


class Agent:
    """An agent on the far host, ready to be connected to. `flags` are added to those that every agent needs; `prefix`
    is a program that executes it."""

    def __init__(self, lab, *flags, port=PORT, listen=None, search=None, pair=None, allow=ALLOW_TOOLS, prefix=(),
                 **options):
        self.lab = lab
        self.port = port
        listen = listen or [f"{lab.far.address}:{port}"]
        search = [lab.far.tmp] if search is None else search
        arguments = [*prefix, needs.farport(), "serve", *(pair or lab.agent_pair).flags(), *allow]
        for address in listen:
            arguments += ["--listen", address]
        for directory in search:
            arguments += ["--search", directory]
        self.process = lab.far.start(*arguments, *flags, name=f"farport-serve-{port}", **options)
        wait.until(self._ready, lambda: f"the agent listens\n{self.process.output()}")
        if unprivileged.enabled() and "--confine" not in flags:
            self._check_confinement()

    def _ready(self):
        if not self.process.running():
            raise AssertionError(f"the agent has ended\n{self.process.output()}")
        return proc.listens(self.process.pid, self.port)

    def _check_confinement(self):
        """That it has no rights, can get none, and has a filter of system calls."""
        # It listens before it gives up the rest.
        wait.until(lambda: proc.status(self.process.pid, "Seccomp") == "2",
                   lambda: f"the agent is confined\n{self.process.output()}")
        found = [proc.status(self.process.pid, field) for field in ("CapEff", "CapPrm", "NoNewPrivs")]
        if found != ["0" * 16, "0" * 16, "1"] or proc.status(self.process.pid, "Uid").split()[0] == "0":
            raise AssertionError(f"the agent is not confined: {found}\n{self.process.output()}")

    def helper(self, name):
        """The pid of the process of this name that it has for some of its work."""
        # Engines, and hosts here, start the agent from outside its pid namespace; then both have the same parent.
        parent = int(proc.status(self.process.pid, "PPid"))
        found = [pid for pid in (*proc.children(self.process.pid), *proc.children(parent)) if proc.status(pid, "Name") == name]
        assert len(found) == 1, found
        return found[0]

    @property
    def remote(self):
        """HOST:PORT, for a mirror."""
        return f"{self.lab.far.address}:{self.port}"

    def runtimes(self):
        """What it lists."""
        return http2.get(self.lab, "/v1/runtimes", port=self.port)

    def wait_for(self, *applications, seconds=wait.LONGEST_SECONDS):
        """Waits until it lists just these applications, and returns what it says of them, in their order."""
        wanted = sorted(application.pid_inside for application in applications)

        def listed():
            found = {runtime["pid"]: runtime for runtime in self.runtimes()}
            return sorted(found) == wanted and [found] or None

        found = wait.until(listed, lambda: f"the agent lists {wanted}\n{self.process.output()}", seconds)[0]
        return [found[application.pid_inside] for application in applications]

    def log(self):
        """What it has logged so far."""
        return self.process.stderr()

    def wait_for_session_of(self, start):
        """Calls `start`, and returns what it returns once that has a session: by then it watches for signals."""
        def sessions():
            return len(re.findall(r" session of \S+ from \S+$", self.log(), re.MULTILINE))
        before = sessions()
        started = start()
        wait.until(lambda: sessions() > before, started.output)
        return started

    def stop(self):
        """Ends it, as a service manager does, and checks that it went well."""
        code = self.process.stop()
        if code != 0:
            raise AssertionError(f"the agent ended with {code}\n{self.process.output()}")
