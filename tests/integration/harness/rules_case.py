"""Agents with rules."""

import os
import time

from harness import http2, needs, unprivileged, wait
from harness.audit import Audit
from harness.case import Case
from harness.watched import Watched

# A counter that the application counts up when it is asked to.
TOTAL = "Watched.Meter[watched.total]"


def rule(name, when, do="gcdump", more=""):
    return f'[[rules]]\nname = "{name}"\n{when}\ndo = ["{do}"]\n{more}\n'


class RulesCase(Case):
    # An agent that is root runs commands as somebody else.
    RUN_USER = "" if unprivileged.enabled() else 'run.user = "nobody:nogroup"\n'

    def setUp(self):
        super().setUp()
        self.start_application()
        self.directory = self.lab.new_directory(self.lab.far, "kept")
        self.configuration = os.path.join(self.lab.new_directory(self.lab.far, "agent"), "farport.toml")
        self.audit = Audit(os.path.join(self.lab.directory, f"audit-{time.monotonic_ns()}.jsonl"))

    def start_application(self):
        self.application = self.use(Watched(self.lab))
        self.application.get("/tick")  # before that it has no meter

    def begin(self, *rules, more="", flags=()):
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{self.directory}"\n{more}' + "".join(rules))
        self.start(*flags)

    def start(self, *flags, **options):
        self.agent = self.use(self.lab.agent("--config", self.configuration, "--audit", self.audit.path, *flags, **options))
        self.agent.wait_for(self.application)

    def farport(self, command, *arguments):
        return self.lab.near.run(needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(), *arguments)

    def kept(self):
        return http2.get(self.lab, "/v1/artifacts", port=self.agent.port)

    def whole(self):
        return [each for each in self.kept() if each["state"] == "whole"]

    def rows(self, name):
        """What is said of the rule and each runtime."""
        rules = http2.get(self.lab, "/v1/rules", port=self.agent.port)
        return next(each for each in rules if each["name"] == name)["runtimes"]

    def row(self, name):
        not_listed = {"state": "not listed", "fired": 0}
        return next((each for each in self.rows(name) if each["pid"] == self.application.pid_inside), not_listed)

    def wait_for_state(self, name, state, seconds=wait.LONGEST_SECONDS):
        return wait.until(lambda: (row := self.row(name))["state"] == state and row,
                          lambda: f"{state}: {self.row(name)}\n{self.agent.log()}", seconds)

    def wait_for_fired(self, name, times):
        """That it has fired so often, and taken all."""
        return wait.until(lambda: (row := self.row(name))["fired"] == times and row["outcome"] == "done" and row,
                          lambda: f"{self.row(name)}\n{self.agent.log()}")

    def script(self, text):
        """The path of a program of these lines, in a directory that anybody may write to."""
        path = os.path.join(self.lab.new_directory(self.lab.far, "command"), "notify")
        os.chmod(os.path.dirname(path), 0o777)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
        return path
