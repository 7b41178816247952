"""Processes that a test starts, and ends."""

import os
import signal
import subprocess
import time

from harness import proc, wait
from harness.wait import LONGEST_SECONDS

# Of each output, the end, where a test shows it.
SHOWN_CHARACTERS = 6000


class Process:
    """A program on a host. Its standard output and error go to files, which a failing test shows."""

    def __init__(self, host, arguments, environment=None, name=None, stdin=None, enter=None):
        self.arguments = [str(argument) for argument in arguments]
        self.name = name or os.path.basename(self.arguments[0])
        self.host = host
        stem = host.lab.new_log(f"{host.name}-{self.name}")
        self.stdout_path, self.stderr_path = stem + ".out", stem + ".err"
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self._launcher = subprocess.Popen(
                (enter or host.enter) + self.arguments, env=host.environment(environment, self.arguments), stdout=out, stderr=err,
                stdin=subprocess.DEVNULL if stdin is None else stdin, cwd=host.directory)
        self.pid = self._own_pid()

    def _own_pid(self):
        """The launcher enters the host's namespaces and forks: the program is its child."""
        found = []

        def started():
            found.extend(proc.children(self._launcher.pid))
            return found or self._launcher.poll() is not None

        wait.until(started, f"{self.name} has a process")
        return found[0] if found else None

    @property
    def pid_on_host(self):
        """The pid as the host's other processes see it."""
        return proc.pid_inside(self.pid)

    def running(self):
        """Whether it has not ended yet."""
        return self._launcher.poll() is None

    def ended(self):
        """In words: whether it runs, or how it has ended."""
        code = self._launcher.poll()
        return "runs" if code is None else f"has ended with {code}"

    def send(self, number):
        """Sends a signal to the program."""
        if self.pid is not None and self.running():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        """Stops it in its tracks, until thaw()."""
        self.send(signal.SIGSTOP)

    def thaw(self):
        """Lets it go on. The launcher has stopped with it."""
        self._launcher.send_signal(signal.SIGCONT)
        self.send(signal.SIGCONT)

    def kill(self):
        """Ends it without giving it a chance to clean up."""
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self, seconds=LONGEST_SECONDS):
        """Its exit code, negative for a signal, once it has ended."""
        # nsenter stops with what it has launched, and nobody else wakes it: a dump that is broken off stops a process.
        self._launcher.send_signal(signal.SIGCONT)
        limit, began = wait.scaled(seconds), time.monotonic()
        try:
            code = self._launcher.wait(limit)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self._launcher.wait()
            raise wait.TooLate(f"{self.name} did not end within {limit:g} s\n{self.output()}") from None
        wait.note(time.monotonic() - began, limit, f"{self.name} ends")
        return code

    def stop(self, number=signal.SIGTERM, seconds=LONGEST_SECONDS):
        """Asks it to end, and returns its exit code."""
        self.send(number)
        return self.wait(seconds)

    def stdout(self):
        """What it has written to standard output so far."""
        with open(self.stdout_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stderr(self):
        """What it has written to standard error so far."""
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def output(self):
        """Both, for a person."""
        command = " ".join(self.arguments)
        return (f"--- {self.host.name}: {command}\n--- stdout\n{self.stdout()[-SHOWN_CHARACTERS:]}"
                f"--- stderr\n{self.stderr()[-SHOWN_CHARACTERS:]}")

    def wait_for_output(self, text, seconds=LONGEST_SECONDS):
        """Waits until it has printed `text` to either stream."""
        wait.until(lambda: text in self.stdout() or text in self.stderr(),
                   lambda: f"{self.name} prints {text!r}\n{self.output()}", seconds)


class Finished:
    """How a program that was run to its end went."""

    def __init__(self, process, seconds):
        began = time.monotonic()
        self.code = process.wait(seconds)
        self.seconds = time.monotonic() - began
        self.stdout = process.stdout()
        self.stderr = process.stderr()
        self.text = self.stdout + self.stderr
        self.described = f"exit code {self.code}\n{process.output()}"

    def values(self):
        """Lines of `name value`, as the driver prints them."""
        pairs = (line.partition(" ") for line in self.stdout.splitlines())
        return {name: value for name, _, value in pairs}
