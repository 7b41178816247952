"""A fake runtime on the far host."""

from harness import needs, wait


class FakeRuntime:
    """Listens at the place of a default diagnostic port. `flags`: as fake_runtime takes them."""

    def __init__(self, lab, *flags, pid=4711, directory=None):
        self.pid_inside = pid
        self.directory = directory or lab.far.tmp
        self.socket = f"{self.directory}/dotnet-diagnostic-{pid}-1-socket"
        self.process = lab.far.start(needs.fake_runtime(), self.socket, "--pid", pid, *flags)
        wait.until(lambda: self.socket in lab.far.sockets(self.directory), "the fake runtime listens")

    def stop(self):
        """Ends it."""
        self.process.stop()
