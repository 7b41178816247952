#!/usr/bin/env python3
"""Measures what farport costs as the runtimes, sessions and connections get more: memory, CPU at rest, the CPU of a command
and of a GiB, and how soon a new runtime is seen."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import measure
import plot
import report
from dotnet import SOCKET_PREFIX, SOCKETS
from peers.base import Setting, wait_until
from peers.farport import FarportUnaudited
from run import make_certificates

ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS = (1, 10, 100, 1000, 10000)
RUNTIMES = (1, 10, 100, 1000)
SESSIONS = (1, 10, 100)
# So many sessions carry the connections.
CARRIERS = 20
REST_SECONDS = 10.0
# What more than its default is needed of; report.py says where.
LIMITS = ["requests_per_second", "connections_per_identity"]


class Agent(FarportUnaudited):
    """An agent, and any number of mirrors for it."""

    def __init__(self, stack: ExitStack, setting: Setting, *runtimes: str):
        super().__init__(setting)
        self.given, self.mirrors = list(runtimes), []
        stack.callback(self.end)
        self.start_agent()

    def limits(self) -> list[str]:
        return LIMITS

    def runtimes(self) -> list[str]:
        return self.given

    def mirror_of(self, *sockets: str) -> Path:
        """One more. Returns the directory of its sockets."""
        directory = self.directory / f"mirror-{len(self.mirrors)}"
        directory.mkdir(mode=0o700)
        command = self.connect(directory, *(word.format(directory) for word in sockets))
        self.mirrors.append(self._spawn(directory.name, command, ""))
        return directory

    def end(self) -> None:
        for mirror in self.mirrors:
            mirror.terminate()
        for mirror in self.mirrors:
            mirror.wait()
        self.stop()


class Growth:
    """What all measurements need."""

    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work, self.certificates = options, work, work / "ca"
        self.bench = measure.Bench(options.build / "farport_bench", measure.FULL)
        make_certificates(options.build / "farport", self.certificates)
        self.number = 0

    def setting(self) -> Setting:
        self.number += 1
        farport = self.options.build / "farport"
        return Setting(self.work / f"agent-{self.number}", self.certificates, self.runtime("bench"), farport)

    def runtime(self, name: str) -> Path:
        return self.work / f"{name}-{self.number}" / "runtime.sock"

    def fake(self, stack: ExitStack, *arguments) -> None:
        command = [self.options.build / "fake_runtime", *map(str, arguments)]
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        stack.callback(process.terminate)
        process.stdout.readline()

    def fake_at(self, stack: ExitStack, socket: Path, *arguments) -> Path:
        socket.parent.mkdir(exist_ok=True)
        self.fake(stack, socket, *arguments)
        return socket

    def cost(self, agent: Agent, socket: Path) -> dict[str, float]:
        """What the agent takes now: at rest, for commands, for a stream."""
        agent.tool_socket = socket
        time.sleep(3)
        pss = measure.pss_mib(agent.agent.pid)
        before = measure.cpu_seconds(agent.agent.pid)
        time.sleep(REST_SECONDS)
        rest = (measure.cpu_seconds(agent.agent.pid) - before) / REST_SECONDS
        rate, rate_cpu = self.bench.with_cpu(agent, "rate", 2, measure.AT_ONCE)
        stream, stream_cpu = self.bench.with_cpu(agent, "stream", 2)
        return {
            "pss_mib": pss,
            "cpu_at_rest_percent": 100 * rest,
            "cpu_ms_per_1000_commands": rate_cpu / rate["commands"] * 1e6,
            "cpu_s_per_gib": stream_cpu / (stream["bytes"] / measure.GIB),
        }

    def connections(self, count: int) -> dict[str, float]:
        """Open, idle diagnostic connections."""
        with ExitStack() as stack:
            setting = self.setting()
            self.fake_at(stack, setting.runtime_socket)
            idle = self.fake_at(stack, self.runtime("idle"), "--pid", 2, "--fault", "silent")
            agent = Agent(stack, setting, "--search", "none", "--runtime", f"bench={setting.runtime_socket}",
                          "--runtime", f"idle={idle}")  # fmt: skip
            sockets = [agent.mirror_of("--socket", "idle={}/tool") / "tool" for _ in range(CARRIERS)]
            tool = agent.mirror_of("--socket", "bench={}/tool") / "tool"
            wait_until(lambda: all(socket.exists() for socket in [*sockets, tool]), "the mirrors", 60)
            for number, socket in enumerate(sockets):
                self.hold(stack, socket, count // CARRIERS + (number < count % CARRIERS))
            return self.cost(agent, tool)

    def hold(self, stack: ExitStack, socket: Path, count: int) -> None:
        command = [self.options.build / "farport_bench", str(socket), "hold", str(count)]
        holding = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        stack.callback(holding.stdin.close)
        if b"sessions" not in holding.stdout.readline():
            raise RuntimeError(f"{count} connections could not be opened")

    def sessions(self, count: int) -> dict[str, float]:
        """Mirrors that do nothing."""
        with ExitStack() as stack:
            setting = self.setting()
            self.fake_at(stack, setting.runtime_socket)
            agent = Agent(stack, setting, "--search", "none", "--runtime", f"bench={setting.runtime_socket}")
            sockets = [agent.mirror_of("--socket", "bench={}/tool") / "tool" for _ in range(count)]
            wait_until(lambda: all(socket.exists() for socket in sockets), "the mirrors", 60)
            return self.cost(agent, sockets[0])

    def runtimes(self, count: int) -> dict[str, float]:
        """Runtimes that are found in a directory, and mirrored."""
        with ExitStack() as stack:
            setting = self.setting()
            found = self.work / f"found-{self.number}"
            found.mkdir()
            self.fake(stack, "--many", count, found)
            agent = Agent(stack, setting, "--search", str(found))
            mirror = agent.mirror_of()

            def seen() -> int:
                # Not by a pattern, which takes some milliseconds for a thousand.
                names = (name.removeprefix(SOCKET_PREFIX) for name in os.listdir(mirror))
                return sum(rest[0].isdigit() for rest in names)

            wait_until(lambda: seen() >= count, f"{count} runtimes", 120)
            return {
                "one_more_ms": statistics.median(self.one_more(found, number, seen) for number in range(7)),
                "placeholder_kib": placeholder_kib(agent.mirrors[0].pid),
                **self.cost(agent, min(mirror.glob(SOCKETS))),
            }

    def one_more(self, found: Path, number: int, seen) -> float:
        """How long it takes until a new runtime is mirrored, in ms."""
        with ExitStack() as stack:
            before = seen()
            pid = 100_000 + number
            self.fake(stack, found / f"{SOCKET_PREFIX}{pid}-1-socket", "--pid", pid)
            began = time.monotonic()
            wait_until(lambda: seen() > before, "one more runtime", pause=0.0005)
            took = time.monotonic() - began
        wait_until(lambda: seen() <= before, "the runtime's end")
        return 1000 * took


def placeholder_kib(mirror: int) -> float:
    """What a placeholder process takes."""
    found = []
    for child in measure.process_tree(mirror)[1:]:
        with suppress(FileNotFoundError, ProcessLookupError):  # That of a runtime that has just ended.
            found.append(1024 * measure.pss_mib(child))
    return statistics.mean(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where the binaries are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, for run.py --write")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there, as SVG")
    parser.add_argument("--most", type=int, default=10000, help="leave out larger numbers")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="farport-bench-") as work:
        growth = Growth(options, Path(work))
        for what, counts in (("connections", CONNECTIONS), ("sessions", SESSIONS), ("runtimes", RUNTIMES)):
            results[what] = {}
            for count in (each for each in counts if each <= options.most):
                print(f"{count} {what}", file=sys.stderr)
                results[what][str(count)] = getattr(growth, what)(count)
                print(results[what][str(count)], file=sys.stderr)
    print(report.growth_tables(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.plot:
        plot.draw(results, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
