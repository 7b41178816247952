#!/usr/bin/env python3
"""Dumps, heaps, profiles and traces of applications that have little memory left: none may be ended by one, or cut off.
scripts/harm runs it."""

import argparse
import collections
import dataclasses
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

from harness import needs, proc, wait
from harness.api import Api
from harness.hotspot import Hotspot
from harness.lab import Lab
from harness.memory_group import MemoryGroup
from harness.tools import Tools

MEBIBYTE = 1 << 20
FRAMEWORKS = (None, "net9.0", "net8.0")
DUMP_TYPES = ("mini", "heap", "triage", "full")
STOCK_NAMES = {"mini": "Normal", "heap": "WithHeap", "triage": "Triage", "full": "Full"}
# What is taken, and how.
WAYS = (*(("dump", way) for way in ("command", "command", "keep", "http", "mirror")),
        *(("gcdump", way) for way in ("command", "keep", "http")), ("trace", "command"), ("profile", "command"))
FAR_LIMIT = 16 << 30
REFUSED = re.compile("would kill the application|no room|too little memory|of memory are left")
CONFIGURATION = '[artifacts]\ndirectory = "{0}/kept"\nsize = "4GiB"\n[dump]\nkeep_free = "1MiB"\n'
IN_MEMORY = 'directory = "{1}"\n'


@dataclasses.dataclass
class Patient:
    """What one application is like."""
    framework: str
    limit: int  # MiB
    filled: int  # percent
    threads: int
    objects: int

    def __str__(self):
        version = (self.framework or "net10.0").removeprefix("net")
        return f".NET {version}, {self.filled} % of {self.limit} MiB, {self.threads} threads, {self.objects} objects"


class Ward:
    """The hosts, two agents (one has its dumps on a disk, one in memory), and one application at a time."""

    def __init__(self, lab, seed):
        self.lab, self.random, self.tools = lab, random.Random(seed), Tools(lab)
        self.group = MemoryGroup(lab.far, FAR_LIMIT)
        self.memory = tempfile.mkdtemp(prefix="farport-harm-", dir="/dev/shm")
        os.chmod(self.memory, 0o1777)
        self.agents = [self._agent(number, place) for number, place in enumerate(("", IN_MEMORY))]
        self.patient = self.application = self.listed = None

    def _agent(self, number, place):
        directory = self.lab.new_directory(self.lab.far, f"agent-{number}")
        file = os.path.join(directory, "farport.toml")
        pathlib.Path(file).write_text((CONFIGURATION + place).format(directory, self.memory), encoding="utf-8")
        return self.lab.agent("--config", file, port=9000 + number)

    def admit(self):
        """Starts an application of which little more can be known than that it has little memory left."""
        limit = self.random.choice((100, 150, 200, 300, 400, 600, 1024))
        self.patient = Patient(self.random.choice(FRAMEWORKS), limit, self.random.choice((30, 50, 60, 70, 80, 85, 90, 95)),
                               self.random.choice((2, 5, 10, 20, 40, 60)), self.random.choice((0, 1000, 100_000)))
        self.group.limit(FAR_LIMIT)
        # What the runtime takes by itself, about.
        ballast = max(0, limit * self.patient.filled // 100 - 45 - self.patient.objects // 20_000)
        self.application = Hotspot(self.lab.far, "managed", "--sleepers", self.patient.threads, "--objects", self.patient.objects,
                                   "--ballast", ballast, prefix=self.group.prefix, framework=self.patient.framework, rest=20)
        # All that it has left is what its limit leaves.
        self.group.leave_beside_files(limit * (100 - self.patient.filled) // 100 * MEBIBYTE)
        self.listed = wait.until(lambda: Api(self.lab).runtimes().get(self.application.pid_inside), "it is listed")
        wait.until(lambda: self.application.pid_inside in {each["pid"] for each in self.agents[1].runtimes()}, "it is listed")

    def release(self):
        self.application.stop()
        self.group.limit(FAR_LIMIT)
        pid = self.application.pid_inside
        for agent in self.agents:
            wait.until(lambda agent=agent: pid not in {each["pid"] for each in agent.runtimes()}, "it is gone")

    def is_well(self):
        """Why it is not, or nothing: whether it lives, answers, and goes on computing."""
        if not proc.is_alive(self.application.pid):
            return "it was ended"
        before = self._computed()
        done = self._farport("counters", "--duration", "1s", agent=self.agents[0])
        if done.code != 0 and proc.is_alive(self.application.pid):
            return f"it does not answer any more: {done.stderr.strip()}"
        try:
            wait.until(lambda: self._computed() > before, "it computes")
        except AssertionError:
            return "it does not compute any more"
        return "" if proc.is_alive(self.application.pid) else "it was ended"

    def _computed(self):
        """Clock ticks of processor time; none once it has ended."""
        try:
            fields = pathlib.Path(f"/proc/{self.application.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return -1
        return int(fields[11]) + int(fields[12])

    def _farport(self, command, *arguments, agent):
        return self.lab.near.run(needs.farport(), command, f"{agent.remote}/{self.application.pid_inside}", *arguments,
                                 *self.lab.tools_pair.flags())

    def take(self, what, way, agent, anyway=False):
        """Takes one of it. Returns whether it was taken, and what was said."""
        directory = self.lab.new_directory(self.lab.near, "taken")
        try:
            return getattr(self, f"_{way}")(what, directory, agent, ["--anyway"] if anyway else [])
        finally:
            shutil.rmtree(directory)

    @staticmethod
    def _words(what):
        command, *arguments = what.split()
        return command, ["--type", *arguments] if command == "dump" else []

    def _command(self, what, directory, agent, anyway):
        command, arguments = self._words(what)
        name = {"gcdump": "x.gcdump", "trace": "x.nettrace", "profile": "x.folded", "dump": "x.dmp"}[command]
        more = ["--duration", "2s"] if command in ("trace", "profile") else []
        done = self._farport(command, *arguments, *more, *anyway, "-o", os.path.join(directory, name), agent=agent)
        return done.code == 0, done.stderr

    def _keep(self, what, _directory, agent, anyway):
        command, arguments = self._words(what)
        done = self._farport(command, *arguments, *anyway, "--keep", agent=agent)
        identifier = done.stdout.strip()
        if identifier:
            self.lab.near.run(needs.farport(), "artifacts", agent.remote, "--remove", identifier, *self.lab.tools_pair.flags())
        return done.code == 0, done.stderr

    def _http(self, what, directory, agent, anyway):
        command, arguments = self._words(what)
        listed = next(each for each in agent.runtimes() if each["pid"] == self.application.pid_inside)
        query = "?" + "&".join([f"type={each}" for each in arguments[1:]] + ["anyway=true" for _ in anyway])
        file = os.path.join(directory, "x")
        answer = Api(self.lab, port=agent.port).request(f"/v1/runtimes/{listed['id']}/{command}{query}", "--output", file,
                                                        "--request", "POST" if command == "dump" else "GET")
        return answer.status == 200, "" if answer.status == 200 else pathlib.Path(file).read_text(encoding="utf-8")

    def _mirror(self, what, directory, agent, _anyway):
        mirror = self.lab.mirror(f"{agent.remote}/{self.application.pid_inside}")
        try:
            (row,) = wait.until(mirror.rows, mirror.process.output)
            done = self.tools.driver("dump", row["local_pid"], STOCK_NAMES[what.split()[1]], os.path.join(directory, "x.dmp"))
            return done.code == 0, done.stderr + done.stdout
        finally:
            mirror.stop()

    def one(self, number):
        """Takes something of a new application. Returns its row for the table."""
        self.admit()
        what, way = self.random.choice(WAYS)
        if what == "dump":
            what += f" {self.random.choice(DUMP_TYPES)}"
        place = self.random.randrange(2) if what.startswith("dump") else 0
        kills = self.group.killed()
        began = time.monotonic()
        taken, said = self.take(what, way, self.agents[place])
        seconds = time.monotonic() - began
        ill = self.is_well()
        refused = not taken and bool(REFUSED.search(said))
        would = None
        # Whether it was right to refuse it.
        if refused and not ill and what.startswith("dump") and way != "mirror":
            self.take(what, way, self.agents[place], anyway=True)
            would = bool(self.is_well()) or self.group.killed() > kills
        outcome = "taken" if taken else "refused" if refused else "failed"
        print(f"{number:4} {what:12} {way:8} {'memory' if place else 'disk':6} {seconds:5.1f} s  {outcome:8} {str(self.patient)}"
              f"{'; ILL: ' + ill if ill else ''}{'' if would is None else '; anyway: ended' if would else '; anyway: lives'}", flush=True)
        if not taken:
            print(f"     {said.strip().splitlines()[-1] if said.strip() else 'nothing was said'}", flush=True)
        self.release()
        return what, way, outcome, ill, would


def table(rows):
    """How often each way had which outcome."""
    counts = collections.Counter((what.split()[0], way, outcome) for what, way, outcome, _, _ in rows)
    print(f"\n{'':20} {'taken':>8} {'refused':>8} {'failed':>8}")
    for what, way in sorted({(what.split()[0], way) for what, way, *_ in rows}):
        print(f"{what + ', ' + way:20} " + " ".join(f"{counts[what, way, each]:8}" for each in ("taken", "refused", "failed")))
    ill = [row for row in rows if row[3]]
    tried = [row[4] for row in rows if row[4] is not None]
    print(f"\n{len(rows)} were asked for; {len(ill)} applications were harmed. Of {len(tried)} dumps that were refused and taken all "
          f"the same, {sum(tried)} ended their application.")
    return ill


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    lab = Lab()
    try:
        ward = Ward(lab, arguments.seed)
        try:
            ill = table([ward.one(number) for number in range(1, arguments.number + 1)])
        finally:
            shutil.rmtree(ward.memory, ignore_errors=True)
    finally:
        lab.close()
    sys.exit(1 if ill else 0)


if __name__ == "__main__":
    main()
