#!/usr/bin/env python3
"""A soak: everything at once for a while, and then all is as it was. scripts/soak runs it."""

import argparse
import os
import shutil
import ssl
import sys
import tempfile
import threading
import time
import traceback

from harness import proc, wait
from harness.certificates import Pair
from harness.fake import FakeRuntime
from harness.jobs import Jobs
from harness.lab import Lab
from harness.network import Network
from harness.proxy import Proxy
from harness.silent import Silent
from harness.tools import Tools

FLAGS = ("--grace", "30s", "--ping-interval", "500ms", "--ping-timeout", "500ms")
# What a process may have more of at the end than before, in KiB: what was the most that
# happened at once. A leak of a page in each of the thousands of jobs of ten minutes is more.
MEMORY_ALLOWANCE_KIB = 8192
# The first round fills caches and arenas, which the second may not make larger.
WARM_UP = 0.25
SETTLE_SECONDS = 45.0
SAID_AT_END = 4000
# (job, workers at it, the pause between two turns, in seconds)
PLAN = (("recording", 1, (0, 1)), ("session", 1, (0, 1)), ("command", 2, (0.05, 0.3)), ("listing", 1, (1, 3)),
        ("abandoned_session", 1, (0.5, 2)), ("abandoned_flood", 1, (0.2, 1)), ("dump_by_mirror", 1, (2, 5)),
        ("dump_by_farport", 1, (2, 5)), ("abandoned_dump", 1, (2, 4)), ("passing_runtime", 1, (2, 4)),
        ("passing_mirror", 1, (2, 4)), ("break_session", 1, (2, 6)), ("rotate", 1, (2, 6)), ("bad_peers", 1, (0.2, 1)),
        ("bad_tools", 1, (0.2, 1)))


class Tally:
    """How often each job was done, and what went wrong."""

    def __init__(self):
        self._lock = threading.Lock()
        self.done = {name: 0 for name, _, _ in PLAN}
        self.failed = dict(self.done)
        self.failures = []

    def count(self, name, failure=None):
        """One more, well done or not."""
        with self._lock:
            self.done[name] += 1
            if failure:
                self.failed[name] += 1
                self.failures.append(f"{time.strftime('%T')} {name}: {failure}")


class Soak:
    """The hosts, what runs on them from beginning to end, and what is measured of it."""

    def __init__(self, lab, seed):
        self.lab, self.seed = lab, seed
        self.tools, self.network, self.flags = Tools(lab), Network(lab), FLAGS
        self.applications = [lab.orders("--seconds", "100000"), lab.orders("--seconds", "100000")]
        self.silent = Silent(lab)
        self.fake = FakeRuntime(lab, "--dump", "bytes:20000000")
        # Theirs alone: what is written in place may be read half written, which they get over.
        self.agent_pair, self.mirror_pair = self.copied(lab.agent_pair), self.copied(lab.tools_pair)
        self.agent = lab.agent(*FLAGS, "--log-level", "warn", pair=self.agent_pair)
        self.proxy = Proxy(lab)
        self.mirror = lab.mirror(self.proxy.remote, flags=(*FLAGS, "--log-level", "warn"), pair=self.mirror_pair)
        self.mirror.wait_for(*self.runtimes())
        names = ("--dns", "agent.test", "--ip", lab.far.address, "--ip", lab.far.address6)
        self.agent_pairs = [lab.authority.server(f"agent-{number}", *names) for number in range(3)]
        # Of the same name: the rule is for it.
        self.tools_pairs = [lab.authority.client_again("tools", os.path.join(lab.directory, f"again-{number}"))
                            for number in range(3)]
        self.client_hello = self._hello()
        self.silent.rest()

    def copied(self, pair):
        """The same certificate and key, in files of its own."""
        directory = tempfile.mkdtemp(dir=self.lab.directory)
        copy = Pair(directory, "copy", pair.ca)
        shutil.copyfile(pair.cert, copy.cert)
        shutil.copyfile(pair.key, copy.key)
        return copy

    def context(self, protocols=()):
        """How a TLS client with a good certificate begins."""
        pair = self.tools_pairs[0]
        context = ssl.create_default_context(cafile=pair.ca)
        context.load_cert_chain(pair.cert, pair.key)
        context.check_hostname = False
        if protocols:
            context.set_alpn_protocols(protocols)
        return context

    def _hello(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        handshake = self.context().wrap_bio(incoming, outgoing)
        try:
            handshake.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def runtimes(self):
        """Those that are there from beginning to end."""
        return [*self.applications, self.silent, self.fake]

    def measure(self):
        """What there is of everything that could be left, by name."""
        found = {}
        for name, process in (("agent", self.agent.process), ("mirror", self.mirror.process)):
            found[f"{name}: open descriptors"] = proc.open_files(process.pid)
            found[f"{name}: sockets"] = proc.open_sockets(process.pid)
        found["placeholder processes"] = len(self.mirror.placeholders())
        found["processes, tools' host"] = len(self.lab.near.processes())
        found["processes, runtimes' host"] = len(self.lab.far.processes())
        found["files, tools' host"] = len(_files(self.lab.near.tmp))
        found["files, runtimes' host"] = len(_files(self.lab.far.tmp))
        for number, application in enumerate(self.applications):
            found[f"application {number + 1}: sockets"] = proc.open_sockets(application.process.pid)
        found["silent application: sessions"] = int(self.silent.has_session())
        found["fake runtime: sockets"] = proc.open_sockets(self.fake.process.pid)
        found["connections to the agent"] = self.network.connections(self.agent.port)
        return found

    def measure_warm(self):
        """The same of what only comes with the first work that takes it."""
        found = {}
        for name, process in (("agent", self.agent.process), ("mirror", self.mirror.process)):
            found[f"{name}: threads"] = int(proc.status(process.pid, "Threads"))
            found[f"{name}: memory, KiB"] = proc.own_memory_kib(process.pid)
        return found

    def all_alive(self):
        """Whether agent and mirror have not ended, and no sanitizer has complained."""
        return self.agent.process.running() and self.mirror.process.running() and not self.lab.sanitizer_reports()


def _files(directory):
    """What is in a directory, but for what .NET programs make there for themselves."""
    ignored = ("clr-", "dotnet-lockfile", ".dotnet", ".NET", "system-commandline")
    return [name for name in os.listdir(directory) if not name.startswith(ignored)]


def run_round(soak, tally, seconds):
    """Has all workers at it for so long, and waits until each has finished what it was doing."""
    over = threading.Event()
    timer = threading.Timer(seconds, over.set)
    timer.start()

    def work(name, pause, number):
        jobs = Jobs(soak)
        jobs.random.seed(f"{soak.seed}-{name}-{number}")
        while not over.is_set() and soak.all_alive():
            try:
                getattr(jobs, name)()
                tally.count(name)
            except Exception:  # whatever it is, it is counted, and the others go on
                tally.count(name, traceback.format_exc())
            over.wait(jobs.random.uniform(*pause))

    workers = [threading.Thread(target=work, args=(name, pause, number))
               for name, count, pause in PLAN for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    timer.cancel()
    soak.network.mend()


def settle(soak, expected=None):
    """Waits until nothing is more than expected, as long as it may take. Returns what there is then."""
    try:
        wait.until(lambda: not expected or all(
            value <= expected[name] for name, value in soak.measure().items()), "all is as it was", SETTLE_SECONDS)
    except wait.TooLate:
        pass
    return soak.measure()


def print_tally(tally):
    """What it did."""
    print(f"\n{'did':<32}{'times':>10}{'failed':>10}")
    for name, count in tally.done.items():
        print(f"{name.replace('_', ' '):<32}{count:>10}{tally.failed[name]:>10}")


def print_left(before, after):
    """What is there now. Returns whether there is too much of anything."""
    print(f"\n{'left':<32}{'before':>10}{'after':>10}")
    too_much = False
    for name, value in after.items():
        wrong = value > before[name] + (MEMORY_ALLOWANCE_KIB if "memory" in name else 0)
        too_much |= wrong
        print(f"{name:<32}{before[name]:>10}{value:>10}{'  <- too much' if wrong else ''}")
    return too_much


def soak_for(seconds, seed):
    """Returns whether all went well."""
    lab = Lab()
    try:
        soak, tally = Soak(lab, seed), Tally()
        clean = run_rounds(soak, tally, seconds)
        if tally.failures or not clean:
            # Last what says most: not everybody keeps more of it.
            for said in (soak.agent.process.output(), soak.mirror.process.output()):
                print(said[-SAID_AT_END:], file=sys.stderr)
            print(*lab.sanitizer_reports().values(), *tally.failures[:20], sep="\n", file=sys.stderr)
            return False
        soak.mirror.stop()
        soak.agent.stop()
        return True
    finally:
        lab.close()


def run_rounds(soak, tally, seconds):
    """Both rounds and their tables. Returns whether agent and mirror live and nothing is left."""
    resting = settle(soak)
    run_round(soak, tally, seconds * WARM_UP)
    if soak.all_alive():
        settle(soak, resting)
        warm = soak.measure_warm()
        run_round(soak, tally, seconds * (1 - WARM_UP))
    print_tally(tally)
    if not soak.all_alive():
        print(f"\nagent: {soak.agent.process.ended()}, mirror: {soak.mirror.process.ended()}")
        return False
    after = settle(soak, resting)
    return not print_left(resting | warm, after | soak.measure_warm())


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (default 600)")
    parser.add_argument("--seed", type=int, default=1, help="of what is done at random")
    arguments = parser.parse_args()
    print(f"{arguments.seconds:g} seconds, seed {arguments.seed}", flush=True)
    sys.exit(0 if soak_for(arguments.seconds, arguments.seed) else 1)


if __name__ == "__main__":
    main()
