"""`farport stdio` behind a port, as sshd and its like run it."""

import os

from harness import needs, proc, wait


class Inetd:
    """Runs `farport stdio` on the far host for each connection to the port, as sshd would. `prefix` executes it."""

    def __init__(self, lab, *arguments, prefix=(), port=9000):
        self.runtime_directory = lab.new_directory(lab.far, "run")
        os.chmod(self.runtime_directory, 0o700)
        self.command = f"socat - TCP:{lab.far.address}:{port}"
        program = " ".join([*map(str, prefix), needs.farport(), "stdio", "--linger", "1s", *arguments])
        self.process = lab.far.start(
            "socat", f"TCP-LISTEN:{port},fork,reuseaddr", f"EXEC:{program}", name="inetd",
            environment={"XDG_RUNTIME_DIR": self.runtime_directory})
        wait.until(lambda: proc.listens(self.process.pid, port), "socat listens")

    def stop(self):
        """Ends it."""
        self.process.stop()
