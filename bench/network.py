#!/usr/bin/env python3
"""Measures farport beside its peers over networks that are slow, long or lossy: between two network namespaces of its
own, with farport_link as the line. Takes root."""

import argparse
import json
import os
import subprocess
import sys
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import measure
import peers.farport
import peers.haproxy
import peers.ssh
import report
from dotnet import SOCKETS, Dotnet, FarportFound
from peers.base import Setting, in_network, wait_until
from run import make_certificates

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
TRACE_MEBIBYTES = 64
MBIT = 1_000_000
NETWORKS = (f"bench-far-{os.getpid()}", f"bench-near-{os.getpid()}")
ADDRESSES = ("10.99.1.1", "10.99.1.2")


class SshCompressed(peers.ssh.Ssh):
    """The same with its own compression."""

    name = "ssh -C -L"

    def mirror_command(self) -> list[str]:
        command = super().mirror_command()
        return [command[0], "-C", *command[1:]]


class FarportPlain(peers.farport.Farport):
    """The same with all bytes as they are."""

    name = "farport --compression never"

    def mirror_command(self) -> list[str]:
        return [*super().mirror_command(), "--compression", "never"]


KINDS = [peers.haproxy.Haproxy, peers.ssh.Ssh, SshCompressed, peers.farport.Farport, FarportPlain]


@dataclass(frozen=True)
class Link:
    """A network, as both directions of it are."""

    round_trip_ms: float
    mbit: int
    loss_percent: float = 0

    def __str__(self) -> str:
        loss = f", {self.loss_percent:g} % lost" if self.loss_percent else ""
        return f"{self.round_trip_ms:g} ms, {self.mbit:,} Mbit/s{loss}"


def run_ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


class Line:
    """Two network namespaces, and the link between them while there is one."""

    def __init__(self, program: Path):
        self.program = program
        self.process: subprocess.Popen | None = None
        for name in NETWORKS:
            run_ip("netns", "add", name)
            run_ip("-netns", name, "link", "set", "dev", "lo", "up")
            for kind in ("tcp_rmem", "tcp_wmem"):  # What long and fast networks need.
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv4.{kind}=4096 131072 67108864"],
                               check=True)  # fmt: skip

    def become(self, link: Link) -> None:
        self.end()
        command = [self.program, *NETWORKS, f"{link.round_trip_ms / 2:g}", f"{link.mbit}", f"{link.loss_percent:g}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            raise RuntimeError("farport_link did not start")
        for name, own, other in zip(NETWORKS, ADDRESSES, reversed(ADDRESSES)):
            run_ip("-netns", name, "address", "add", own, "peer", other, "dev", "link")
            run_ip("-netns", name, "link", "set", "dev", "link", "up", "txqueuelen", "10000")

    def end(self) -> None:
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        self.end()
        for name in NETWORKS:
            run_ip("netns", "del", name)


def measure_link(bench: measure.Bench, kinds: list, setting, load) -> dict[str, float]:
    """One peer after the other: each dials over this link."""
    results = {}
    for at, kind in enumerate(kinds):
        print(f"  {kind.name}", file=sys.stderr)
        peer = kind(setting(at))
        try:
            peer.start_agent()
            peer.start_mirror()
            results[peer.name] = load(bench, peer)
        finally:
            peer.stop()
    return results


def command_ms(bench, peer) -> float:
    return bench.load(peer, "latency", 30, 20)["p50_us"] / 1000


def stream_mbit(bench, peer) -> float:
    bench.load(peer, "stream", 5)  # For windows to grow.
    return bench.load(peer, "stream", 5)["mib_per_second"] * MIB * 8 / MBIT


def trace_seconds(bench, peer) -> float:
    return bench.load(peer, "whole", 0)["seconds"]


# The address as numbers: looking it up takes longer than some networks.
CONNECT = """
import socket, statistics, sys, time
took = []
for _ in range(7):
    with socket.socket() as connection:
        began = time.monotonic()
        connection.connect((sys.argv[1], int(sys.argv[2])))
        took.append(time.monotonic() - began)
print(statistics.median(took))
"""


def tcp_alone_ms(_bench, peer) -> float:
    """One round trip, as this line really makes it: that of a TCP handshake."""
    command = [sys.executable, "-c", CONNECT, ADDRESSES[0], str(peer.port)]
    return float(subprocess.check_output(in_network(NETWORKS[1], command))) * 1000


def first_socket_ms(_bench, peer) -> float:
    """From a mirror's start until there is its first local socket."""
    took = []
    for _ in range(5):
        peer.mirror.terminate()
        peer.mirror.wait()
        wait_until(lambda: not peer.tool_socket.exists(), "the mirror's end")
        began = time.monotonic()
        peer.spawn_mirror()
        wait_until(peer.tool_socket.exists, "the first socket", pause=0.0005)
        took.append(time.monotonic() - began)
    return statistics.median(took) * 1000


def beside_ms(bench, peer) -> float:
    return bench.load(peer, "beside", 30)["p99_us"] / 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--trace", type=Path, help="what the traces of the slow networks are, instead of a recording")
    parser.add_argument("--dotnet", type=Path, default=ROOT / "build/dotnet/bin/orders/release/orders",
                        help="a .NET application")  # fmt: skip
    parser.add_argument("--dotnet-trace", type=Path, default=ROOT / "build/tools/dotnet-trace")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, for run.py --write")
    parser.add_argument("--only", metavar="WORD", action="append", help="only peers with this in their name")
    options = parser.parse_args()
    line = Line(options.build / "farport_link")
    try:
        results = measure_all(options, line)
    finally:
        line.close()
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(report.network_table(results))
    return 0


def measure_all(options, line: Line) -> dict[str, dict[str, float]]:
    kinds = [kind for kind in KINDS if not options.only or any(word in kind.name for word in options.only)]
    dotnet = Dotnet(options.dotnet, options.dotnet_trace)
    results = {}
    with tempfile.TemporaryDirectory(prefix="farport-bench-") as name:
        work = Path(name)
        if not options.trace and not dotnet.is_there():
            raise SystemExit("network.py: there is no .NET application or no dotnet-trace; see --dotnet, --trace")
        trace = options.trace or dotnet.record(work, TRACE_MEBIBYTES)
        farport, certificates, socket = options.build / "farport", work / "ca", work / "runtime" / "runtime.sock"
        make_certificates(farport, certificates, ADDRESSES[0])
        socket.parent.mkdir()
        for number, (what, link, file, flags, load, measured) in enumerate(plan(trace, kinds)):
            bench = measure.Bench(options.build / "farport_bench", measure.FULL, file)
            title = f"{what} ({link})"
            print(title, file=sys.stderr)
            line.become(link)
            runtime = subprocess.Popen([options.build / "fake_runtime", socket, *bench.stream_file, *flags], stdout=subprocess.DEVNULL)
            try:
                wait_until(socket.exists, "the fake runtime")

                def setting(at: int) -> Setting:
                    return Setting(work / f"{number}-{at}", certificates, socket, farport, ADDRESSES[0], *NETWORKS)

                results[title] = measure_link(bench, measured, setting, load)
            finally:
                runtime.terminate()
                runtime.wait()
            print(results[title], file=sys.stderr)
        if dotnet.is_there():
            measure_dotnet(results, dotnet, line, Setting(work / "dotnet", certificates, socket, farport, ADDRESSES[0], *NETWORKS))
    return results


def measure_dotnet(results: dict, dotnet: Dotnet, line: Line, setting: Setting) -> None:
    """dotnet-trace, for one second, on the application's own host and behind farport."""
    link = Link(50, 1000)
    title = f"dotnet-trace of one second, s ({link})"
    print(title, file=sys.stderr)
    line.become(link)
    far = setting.directory.parent / "far"
    far.mkdir()
    application = dotnet.start_application(far, NETWORKS[0])
    peer = FarportFound(setting, far)
    try:
        peer.start_agent()
        peer.start_mirror()
        placeholder = int(next(peer.sockets.glob(SOCKETS)).name.split("-")[2])

        def collect(pid: int, tmp: Path, network: str) -> float:
            target = setting.directory / "x.nettrace"
            return statistics.median(dotnet.collect(pid, tmp, target, 1, network) for _ in range(7))

        results[title] = {"no tunnel": collect(application.pid, far, NETWORKS[0]),
                          "farport": collect(placeholder, peer.sockets, NETWORKS[1])}  # fmt: skip
    finally:
        peer.stop()
        application.terminate()
        application.wait()
    print(results[title], file=sys.stderr)


def plan(trace: Path, kinds: list):
    """What is measured over which network, with which file streamed, by a runtime with which flags, of which peers."""
    endless = ["--stream-bytes", "1000000000000"]
    own = [peers.farport.Farport]
    return [
        ("first local socket, ms", Link(0, 1000), None, [], first_socket_ms, own),
        ("first local socket, ms", Link(100, 1000), None, [], first_socket_ms, own),
        ("TCP alone, ms", Link(100, 1000), None, [], tcp_alone_ms, own),
        ("command, ms", Link(50, 1000), None, [], command_ms, kinds),
        ("one stream, Mbit/s", Link(100, 1000), None, [], stream_mbit, kinds),
        ("a real trace, s", Link(50, 20), trace, [], trace_seconds, kinds),
        ("p99 of a command beside traces, ms", Link(50, 20, 1), trace, endless, beside_ms, kinds),
    ]


if __name__ == "__main__":
    sys.exit(main())
