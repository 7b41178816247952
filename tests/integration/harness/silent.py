"""A runtime whose provider writes nothing."""

import re

from harness import needs, proc, wait

PROVIDER = "Silent"


class Silent:
    """A .NET program on the far host. Its provider reports every change of its sessions, but writes no event: by
    itself the runtime never notices that nobody reads."""

    def __init__(self, lab, directory=None):
        directory = directory or lab.far.tmp
        self.process = lab.far.start(needs.driver(), "silent", "100000", environment={"TMPDIR": directory})
        self.process.wait_for_output("ready")
        self.pid_inside = self.process.pid_on_host
        prefix = f"{directory}/dotnet-diagnostic-{self.pid_inside}-"
        self.socket = wait.until(lambda: [path for path in lab.far.sockets(directory) if path.startswith(prefix)],
                                 "the runtime opens its diagnostic port")[0]
        self._sockets_at_rest = None

    def is_enabled(self):
        """Whether the provider was last told that a session has it enabled. .NET 10 tells it that it is disabled with
        the first session that ends, even where another goes on."""
        changes = re.findall(r"^change \d+ (\w+)$", self.process.stdout(), re.MULTILINE)
        return bool(changes) and changes[-1] != "Disable"

    def rest(self):
        """Takes note of how many sockets it has open without a session."""
        self._sockets_at_rest = proc.open_sockets(self.process.pid)

    def has_session(self):
        """Whether it has any sign of a session: the provider enabled, or a socket more than at rest."""
        return self.is_enabled() or proc.open_sockets(self.process.pid) > self._sockets_at_rest

    def wait_until_enabled(self):
        """Waits for a session to begin."""
        wait.until(self.is_enabled, lambda: f"the provider is enabled\n{self.process.output()}")

    def wait_until_free(self, seconds=wait.LONGEST_SECONDS):
        """Waits until nothing is left of any session."""
        wait.until(lambda: not self.has_session(),
                   lambda: f"the session is gone: enabled {self.is_enabled()}, {proc.open_sockets(self.process.pid)} "
                           f"sockets, {self._sockets_at_rest} at rest\n{self.process.output()}", seconds)

    def stop(self):
        """Ends it."""
        self.process.kill()
