"""The sample application."""

import signal

from harness import needs, proc, wait


class Orders:
    """The application `orders` on a host, with its diagnostic port open. `directory`: its TMPDIR. `busy`: it keeps so much of
    a core busy that it is seen in each second's samples."""

    def __init__(self, host, *flags, busy=False, directory=None, diagnostics=True, environment=None, enter=None):
        self.directory = directory or host.tmp
        variables = {"TMPDIR": self.directory, "ORDERS_SHOP": "north"} | (environment or {})
        # Longer than any test, so that one that is left over by accident ends all the same.
        flags = flags if "--seconds" in flags else (*flags, "--seconds", "3600")
        # Most tests want its events alone, and others wait for the processor.
        flags = flags if busy else (*flags, "--discounts", "10")
        self.process = host.start(needs.orders(), *flags, environment=variables, enter=enter)
        self.pid_inside = self.process.pid_on_host
        self.socket = None
        if diagnostics:
            self.process.wait_for_output("pricing")
            self.socket = wait.until(self._find_socket, "the application opens its diagnostic port")

    def _find_socket(self):
        prefix = f"{self.directory}/dotnet-diagnostic-{self.pid_inside}-"
        found = [path for path in self.process.host.sockets(self.directory) if path.startswith(prefix)]
        return found[0] if found else None

    @property
    def command_line(self):
        """Its arguments, as the kernel knows them."""
        return b" ".join(proc.command_line(self.process.pid)).decode()

    def kill(self):
        """Ends it with SIGKILL: its socket stays."""
        self.process.kill()

    def stop(self):
        """Ends it as Ctrl-C does."""
        code = self.process.stop(signal.SIGINT)
        if code != 0:
            raise AssertionError(f"the application ended with {code}\n{self.process.output()}")
