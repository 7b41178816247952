"""`farport connect`."""

import json
import os
import signal

from harness import needs, proc, wait
from harness.host import as_user


class Mirror:
    """A mirror on the near host, of the agents given as HOST:PORT. `directory`: where it makes its sockets. `user`: whose
    it is, by number; root's by default."""

    def __init__(self, lab, *remotes, flags=(), pair=None, directory=None, user=None, **options):
        self.lab = lab
        self.directory = directory or lab.near.tmp
        arguments = [needs.farport(), "connect", *remotes, "--json", *(pair or lab.tools_pair).flags()]
        if directory:
            arguments += ["--socket-dir", directory]
        if user is not None:
            arguments = as_user(user) + arguments
        self.process = lab.near.start(*arguments, *flags, name="farport-connect", **options)

    def rows(self):
        """The mirrored runtimes, as the mirror has announced them."""
        rows = {}
        for line in self.process.stdout().splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            event = json.loads(line)
            runtime = event["runtime"]
            key = (runtime["agent"], runtime["id"])
            if event["event"] == "removed":
                rows.pop(key, None)
            else:
                rows[key] = runtime
        return list(rows.values())

    def states(self):
        """Whether its session was up, at each announcement of a runtime, the last one last."""
        events = (json.loads(line) for line in self.process.stdout().splitlines(keepends=True) if line.endswith("\n"))
        states, breaks = [], {}
        for row in (event["runtime"] for event in events if event["event"] != "removed"):
            # A break may be shorter than it takes to announce it.
            if row["connected"] and row["breaks"] > breaks.get(row["id"], 0) and (not states or states[-1]):
                states.append(False)
            breaks[row["id"]] = row["breaks"]
            states.append(row["connected"])
        return states

    def wait_for_break(self, after=0, seconds=wait.LONGEST_SECONDS):
        """Waits until its session is broken, or has been in an announcement that came after the first `after`.

        A session that silence has ended before the test broke it says nothing more: it is broken, too."""
        wait.until(lambda: False in self.states()[after:] or self.states()[-1:] == [False],
                   lambda: f"the mirror says that it is reconnecting\n{self.process.output()}", seconds)

    def wait_until_back(self, after=0, seconds=wait.LONGEST_SECONDS):
        """Waits until its session is up again, after a break as above."""
        self.wait_for_break(after, seconds)
        wait.until(lambda: self.states()[-1], lambda: f"the mirror is back\n{self.process.output()}", seconds)

    def wait_for(self, *applications, seconds=wait.LONGEST_SECONDS):
        """Waits until it shows just these applications, and returns their rows in the same order."""
        wanted = sorted(application.pid_inside for application in applications)
        wait.until(lambda: sorted(row["pid"] for row in self.rows()) == wanted,
                   lambda: f"the mirror shows {wanted}, not {self.rows()}\n{self.process.output()}", seconds)
        rows = {row["pid"]: row for row in self.rows()}
        return [rows[application.pid_inside] for application in applications]

    def placeholders(self):
        """The pids (as the lab sees them) of its placeholder processes."""
        return proc.children(self.process.pid)

    def files(self):
        """Everything in its directory but what .NET tools made there for themselves."""
        return sorted(name for name in os.listdir(self.directory) if not name.startswith(("clr-", "dotnet-lockfile")))

    def stop(self, number=signal.SIGTERM):
        """Ends it and checks that it has taken everything with it."""
        placeholders = self.placeholders()
        code = self.process.stop(number)
        left = [pid for pid in placeholders if proc.is_alive(pid)]
        if code != 0 or left or self.files():
            raise AssertionError(f"the mirror ended with {code}, left processes {left} and files {self.files()}\n"
                                 + self.process.output())
