#!/usr/bin/env python3
"""Measures the agent's memory (PSS): when it starts, when it has settled, and a minute after each kind of work."""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import measure
from dotnet import SOCKETS, Dotnet, FarportFound
from peers.base import Setting
from run import ROOT, make_certificates

START_SECONDS = 3.0
SETTLED_SECONDS = 15.0
AFTER_SECONDS = 60.0
TRACE_SECONDS = 10


def highest_pss(pid: int, seconds: float) -> float:
    """The highest of what is seen in that time."""
    highest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        highest = max(highest, measure.pss_mib(pid))
        time.sleep(0.05)
    return highest


class Work:
    """What engineers do with one application, each by an agent of its own."""

    def __init__(self, dotnet: Dotnet, setting: Callable[[], Setting], search: Path):
        self.dotnet, self.setting, self.search = dotnet, setting, search

    def start(self) -> dict[str, float]:
        peer = FarportFound(self.setting(), self.search)
        try:
            peer.start_agent()
            start = highest_pss(peer.agent.pid, START_SECONDS)
            time.sleep(SETTLED_SECONDS)
            return {"at the start": start, "settled": measure.pss_mib(peer.agent.pid)}
        finally:
            peer.stop()

    def after(self, work: Callable[[FarportFound], None]) -> float:
        """A minute after the work and the end of its mirror, with which the agent shares pages."""
        peer = FarportFound(self.setting(), self.search)
        try:
            peer.start_agent()
            peer.sockets.mkdir(mode=0o700, exist_ok=True)
            peer.start_mirror()
            work(peer)
            peer.mirror.terminate()
            peer.mirror.wait()
            time.sleep(AFTER_SECONDS)
            return measure.pss_mib(peer.agent.pid)
        finally:
            peer.stop()

    def trace(self, peer: FarportFound) -> None:
        placeholder = int(next(peer.sockets.glob(SOCKETS)).name.split("-")[2])
        self.dotnet.collect(placeholder, peer.sockets, peer.directory / "x.nettrace", TRACE_SECONDS)

    def profile(self, peer: FarportFound) -> None:
        run(peer.command("profile", "--duration", "5s", "-o", str(peer.directory / "x.html")))

    def wall(self, peer: FarportFound) -> None:
        run(peer.command("profile", "--wall", "--duration", "5s", "-o", str(peer.directory / "wall.html")))

    def gcdump(self, peer: FarportFound) -> None:
        run(peer.command("gcdump", "-o", str(peer.directory / "x.gcdump")))


def run(command: list[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")


def measure_all(options: argparse.Namespace, work: Path) -> dict[str, float]:
    dotnet = Dotnet(options.dotnet, options.dotnet_trace)
    certificates, search, numbers = work / "ca", work / "search", itertools.count()
    make_certificates(options.build / "farport", certificates)
    search.mkdir()

    def setting() -> Setting:
        return Setting(work / f"agent-{next(numbers)}", certificates, Path(), options.build / "farport")

    application = dotnet.start_application(search)
    try:
        works = Work(dotnet, setting, search)
        results = works.start()
        for name, work_of in {
            "a minute after a trace": works.trace,
            "after a profile": works.profile,
            "after a profile by the runtime's sampler": works.wall,
            "after a gcdump": works.gcdump,
        }.items():
            results[name] = works.after(work_of)
            print(f"{name}: {results[name]:.1f} MiB", file=sys.stderr)
        return results
    finally:
        application.terminate()
        application.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--dotnet", type=Path, default=ROOT / "build/dotnet/bin/orders/release/orders",
                        help="a .NET application")  # fmt: skip
    parser.add_argument("--dotnet-trace", type=Path, default=ROOT / "build/tools/dotnet-trace")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, for run.py --write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="farport-bench-") as work:
        results = measure_all(options, Path(work))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
