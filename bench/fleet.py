#!/usr/bin/env python3
"""Measures one laptop with many agents: how long farport ps, top and connect take, and what the mirror takes at rest.

Each agent listens on a loopback address of its own, in a pid namespace of its own, with a fake runtime. This takes root, and some
3 MiB an agent."""

import argparse
import ipaddress
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import measure
from dotnet import SOCKETS, Dotnet, Tap
from peers.base import wait_until
from run import ROOT, make_certificates

SIZES = (20, 200, 1000)
PORT = 9000
FIRST = ipaddress.IPv4Address("127.1.0.1")
REST_SECONDS = 15.0
METER_SECONDS = 8
QUIET = ("--log-level", "warn")
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
CHANGES = 10
INOTIFY_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")


def tls(certificates: Path, name: str) -> list[str]:
    return ["--tls-cert", str(certificates / f"{name}.crt"), "--tls-key", str(certificates / f"{name}.key"),
            "--tls-ca", str(certificates / "ca.crt")]  # fmt: skip


def listening() -> int:
    """How many sockets listen on the agents' port."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        return sum(f":{PORT:04X} " in line and " 0A " in line for line in table)


class Fleet:
    """Agents that run until the stack is left."""

    def __init__(self, stack: ExitStack, build: Path, work: Path, size: int, meters: Path | None):
        self.farport, self.certificates = str(build / "farport"), work / "ca"
        self.remotes = [f"{FIRST + number}:{PORT}" for number in range(size)]
        # What an application sends to farport top, as slowly as it does.
        stream = []
        self.stack, self.runtimes = stack, {}
        if meters:
            stream = ["--stream-file", str(meters), "--stream-rate", str(meters.stat().st_size // METER_SECONDS)]
        for number, remote in enumerate(self.remotes):
            directory = work / f"{size}-{number}"
            directory.mkdir(mode=0o700)
            socket = directory / "runtime.sock"
            self.start_runtime(number, [str(build / "fake_runtime"), str(socket), "--pid", "7", *stream])
            self._start([
                self.farport, "serve", "--listen", remote, "--search", str(directory), "--runtime", f"orders={socket}",
                "--allow-all=admin", "--audit", "off", "--host-name", f"web-{number}", *QUIET, *tls(self.certificates, "agent"),
            ])  # fmt: skip
        wait_until(lambda: listening() >= size, f"{size} agents", 300, 0.2)
        time.sleep(5)  # The agents find their runtimes, and settle.

    def _start(self, command: list[str]) -> subprocess.Popen:
        process = self.stack.enter_context(subprocess.Popen(APART + command, stdout=subprocess.DEVNULL))
        self.stack.callback(process.kill)
        return process

    def start_runtime(self, number: int, command: list[str]) -> None:
        Path(command[1]).unlink(missing_ok=True)
        self.runtimes[number] = self._start(command)

    def changes(self, events: Iterable[str]) -> dict[str, float]:
        """How soon a mirror tells that a runtime has ended, and that there is another."""

        def until(event: str) -> float:
            began = time.monotonic()
            for line in events:
                if f'"event":"{event}"' in line:
                    return time.monotonic() - began
            raise RuntimeError(f"the mirror ended before it told that a runtime was {event}")

        ended, begun = [], []
        for number in range(0, len(self.remotes), max(1, len(self.remotes) // CHANGES)):
            runtime = self.runtimes[number]
            runtime.kill()
            ended.append(until("removed"))
            runtime.wait()
            self.start_runtime(number, runtime.args[len(APART) :])
            begun.append(until("added"))
        return {"end_seen_s": statistics.median(ended), "latest_end_seen_s": max(ended),
                "begin_seen_s": statistics.median(begun), "latest_begin_seen_s": max(begun)}  # fmt: skip

    def command(self, name: str, *arguments: str) -> list[str]:
        return [self.farport, name, *self.remotes, "--server-name", "agent", *tls(self.certificates, "tool"), *arguments]

    def timed(self, name: str, *arguments: str) -> tuple[float, int]:
        """How long a command takes, and the rows that it prints below the heading."""
        began = time.monotonic()
        done = subprocess.run(self.command(name, *QUIET, *arguments), check=False, capture_output=True, text=True)
        took = time.monotonic() - began
        if done.returncode != 0:
            print(f"farport {name} of {len(self.remotes)} agents ended with {done.returncode}: {done.stderr[-500:]}",
                  file=sys.stderr)  # fmt: skip
        return took, sum(bool(line.strip()) for line in done.stdout.splitlines()) - 1

    def mirror(self, directory: Path) -> dict[str, float]:
        """How long it takes to mirror them all, and what the mirror takes then."""
        directory.mkdir(mode=0o700)
        began = time.monotonic()
        command = self.command("connect", "--json", "--socket-dir", str(directory), "--log-level", "debug")
        log = directory.with_suffix(".log")
        with open(log, "wb") as said, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as mirror:
            try:
                added = 0
                while added < len(self.remotes) and (line := mirror.stdout.readline()):
                    added += '"event":"added"' in line
                took = time.monotonic() - began
                time.sleep(5)
                before = measure.cpu_seconds(mirror.pid)
                time.sleep(REST_SECONDS)
                rest = (measure.cpu_seconds(mirror.pid) - before) / REST_SECONDS
                found = {"mirrored": added, "mirrored_s": took, "pss_mib": measure.pss_mib(mirror.pid),
                         "pss_without_placeholders_mib": measure.pss_mib(mirror.pid, alone=True),
                         "cpu_at_rest_percent": 100 * rest, **self.changes(mirror.stdout)}  # fmt: skip
            finally:
                mirror.terminate()
                mirror.wait()
        turns = re.search("turns of the event loop: (.*)", log.read_text(encoding="utf-8", errors="replace"))
        return {**found, "turns": turns[1] if turns else "not said"}

    def after_an_outage(self, directory: Path, seconds: float) -> dict[str, float]:
        """How soon a mirror has all of them again when the network was away for so long, and what that takes of its processor."""
        directory.mkdir(mode=0o700)
        command = self.command("connect", "--json", "--socket-dir", str(directory), "--grace", f"{3 * seconds:g}s", *QUIET)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as mirror:
            connected = {}

            def follow():
                for line in mirror.stdout:
                    runtime = json.loads(line)["runtime"]
                    connected[runtime["agent"]] = runtime["connected"]

            following = threading.Thread(target=follow, daemon=True)
            following.start()
            try:
                wait_until(lambda: sum(connected.values()) == len(self.remotes), "all agents", 300, 0.02)
                subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
                time.sleep(seconds)
                lost, before = sum(not each for each in connected.values()), measure.cpu_seconds(mirror.pid)
                subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
                began = time.monotonic()
                wait_until(lambda: sum(connected.values()) == len(self.remotes), "all agents again", 300, 0.02)
                took, used = time.monotonic() - began, measure.cpu_seconds(mirror.pid) - before
                return {"lost": lost, "again_s": took, "again_cpu_s": used}
            finally:
                mirror.terminate()
                mirror.wait()
                following.join()


def record_meters(build: Path, work: Path, dotnet: Dotnet) -> Path:
    """What an application sends to farport top."""
    tmp, tapped, recording = work / "meters", work / "tapped.sock", work / "meters.nettrace"
    tmp.mkdir()
    application = dotnet.start_application(tmp)
    try:
        tap = Tap(tapped, next(tmp.glob(SOCKETS)))
        remote = f"{FIRST}:{PORT}"
        agent = [str(build / "farport"), "serve", "--listen", remote, "--search", str(work / "ca"), "--runtime",
                 f"orders={tapped}", "--allow-all=admin", "--audit", "off", *QUIET, *tls(work / "ca", "agent")]  # fmt: skip
        with subprocess.Popen(agent) as serving:
            try:
                wait_until(lambda: listening() > 0, "an agent", 30)
                top = [str(build / "farport"), "top", remote, "--rounds", str(METER_SECONDS), "--server-name", "agent",
                       *tls(work / "ca", "tool")]  # fmt: skip
                subprocess.run(top, check=True, stdout=subprocess.DEVNULL)
            finally:
                serving.terminate()
    finally:
        application.terminate()
        application.wait()
    recording.write_bytes(tap.recording())
    return recording


@contextmanager
def watches_for(agents: int) -> Iterator[None]:
    """Each agent watches its directories by an inotify instance, as it may on a host of its own: here one user has all."""
    before = INOTIFY_INSTANCES.read_text(encoding="ascii")
    INOTIFY_INSTANCES.write_text(str(max(int(before), 2 * agents)), encoding="ascii")
    try:
        yield
    finally:
        INOTIFY_INSTANCES.write_text(before, encoding="ascii")


def measured(build: Path, work: Path, size: int, meters: Path | None, outage: float) -> dict:
    with ExitStack() as stack:
        # Last of all: the next agents need the addresses, and the kernel ends these after their unshare(1).
        stack.callback(wait_until, lambda: listening() == 0, "the end of all agents", 60, 0.2)
        stack.enter_context(watches_for(size))
        fleet = Fleet(stack, build, work, size, meters)
        found = {"agents": size}
        if outage:
            return {**found, **fleet.after_an_outage(work / f"outage-{size}", outage)}
        found["ps_s"], found["ps_rows"] = fleet.timed("ps")
        if meters:
            found["top_s"], found["top_rows"] = fleet.timed("top", "--rounds", "1")
        return {**found, **fleet.mirror(work / f"mirror-{size}")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where the binaries are")
    parser.add_argument("--dotnet", type=Path, default=ROOT / "build/dotnet/bin/orders/release/orders",
                        help="a .NET application; top is measured where there is one")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, for run.py --write")
    parser.add_argument("--outage", type=float, default=0, metavar="SECONDS",
                        help="only how soon all are there again when the network was away for so long")  # fmt: skip
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help=f"numbers of agents; {SIZES} otherwise")
    options = parser.parse_args()
    if options.outage and "FLEET_APART" not in os.environ:
        # In a network of its own, which goes away.
        os.environ["FLEET_APART"] = "1"
        os.execvp("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results = {}
    # So that no agents are left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="farport-fleet-") as name:
        work = Path(name)
        make_certificates(options.build / "farport", work / "ca")
        top = options.dotnet.exists() and not options.outage
        meters = record_meters(options.build, work, Dotnet(options.dotnet, Path())) if top else None
        for size in options.sizes:
            results[size] = measured(options.build, work, size, meters, options.outage)
            print(json.dumps(results[size]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
