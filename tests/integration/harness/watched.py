"""The web application that is looked at from outside, and writes down itself what there is to be seen."""

import http.client
import json
import os
import signal
import urllib.parse

from harness import needs, wait

PORT = 5055


def own_lines(lines):
    """The lines of a log that the application has written: ASP.NET's own come as well while a session begins, before the
    logging has taken in what is asked for."""
    return [line for line in lines if not line["category"].startswith("Microsoft.")]


class Watched:
    """It runs on the far host. `prefix`: what comes before its command. `directory`: its TMPDIR."""

    def __init__(self, lab, prefix=(), environment=None, directory=None):
        self.host = lab.far
        directory = directory or lab.far.tmp
        environment = {"TMPDIR": directory} | (environment or {})
        self.journal = os.path.join(lab.new_directory(lab.far, "watched"), "journal")
        self.process = lab.far.start(*prefix, needs.watched(), "--port", PORT, "--journal", self.journal, environment=environment)
        self.process.wait_for_output("ready")
        self.pid_inside = self.process.pid_on_host
        prefix = f"{directory}/dotnet-diagnostic-{self.pid_inside}-"
        self.socket = wait.until(lambda: [path for path in lab.far.sockets(directory) if path.startswith(prefix)],
                                 "the application opens its diagnostic port")[0]

    def get(self, path, **query):
        """Asks it for something, and returns the answer's body."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        connection.sock = self.host.connect("127.0.0.1", PORT)
        connection.request("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise AssertionError(f"{path}: {answer.status} {body}")
        return body

    def entries(self, kind):
        """What it has written down."""
        with open(self.journal, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return [line["what"] for line in lines if line["kind"] == kind]

    def stop(self):
        """Ends it."""
        self.process.stop(signal.SIGINT)
