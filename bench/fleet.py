#!/usr/bin/env python3
"""Measures one laptop with many agents: how long farport ps and connect take, and what the mirror takes at rest.

Each agent listens on a loopback address of its own, in a pid namespace of its own, with a fake runtime. This takes root, and some
3 MiB an agent."""

import argparse
import ipaddress
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import measure
from peers.base import wait_until
from run import make_certificates

ROOT = Path(__file__).resolve().parent.parent
SIZES = (20, 200, 1000)
PORT = 9000
FIRST = ipaddress.IPv4Address("127.1.0.1")
REST_SECONDS = 15.0


def tls(certificates: Path, name: str) -> list[str]:
    return ["--tls-cert", str(certificates / f"{name}.crt"), "--tls-key", str(certificates / f"{name}.key"),
            "--tls-ca", str(certificates / "ca.crt"), "--log-level", "warn"]  # fmt: skip


def listening() -> int:
    """How many sockets listen on the agents' port."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        return sum(f":{PORT:04X} " in line and " 0A " in line for line in table)


class Fleet:
    """Agents that run until the stack is left."""

    def __init__(self, stack: ExitStack, build: Path, work: Path, size: int):
        self.farport, self.certificates = str(build / "farport"), work / "ca"
        self.remotes = [f"{FIRST + number}:{PORT}" for number in range(size)]
        for number, remote in enumerate(self.remotes):
            directory = work / f"{size}-{number}"
            directory.mkdir(mode=0o700)
            socket = directory / "runtime.sock"
            self._start(stack, [str(build / "fake_runtime"), str(socket), "--pid", "7"])
            self._start(stack, [
                self.farport, "serve", "--listen", remote, "--search", str(directory), "--runtime", f"orders={socket}",
                "--allow-all=admin", "--audit", "off", "--host-name", f"web-{number}", *tls(self.certificates, "agent"),
            ])  # fmt: skip
        wait_until(lambda: listening() >= size, f"{size} agents", 300, 0.2)
        time.sleep(5)  # The agents find their runtimes, and settle.

    def _start(self, stack: ExitStack, command: list[str]) -> None:
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        process = stack.enter_context(subprocess.Popen(apart + command, stdout=subprocess.DEVNULL))
        stack.callback(process.kill)

    def command(self, name: str, *arguments: str) -> list[str]:
        return [self.farport, name, *self.remotes, *arguments, "--server-name", "agent", *tls(self.certificates, "tool")]

    def timed(self, name: str, *arguments: str) -> tuple[float, int]:
        """How long a command takes, and the lines that it prints."""
        began = time.monotonic()
        done = subprocess.run(self.command(name, *arguments), check=False, capture_output=True, text=True)
        took = time.monotonic() - began
        if done.returncode != 0:
            print(f"farport {name} of {len(self.remotes)} agents ended with {done.returncode}: {done.stderr[-500:]}",
                  file=sys.stderr)  # fmt: skip
        return took, len(done.stdout.splitlines())

    def mirror(self, directory: Path) -> dict[str, float]:
        """How long it takes to mirror them all, and what the mirror takes then."""
        directory.mkdir(mode=0o700)
        began = time.monotonic()
        command = self.command("connect", "--json", "--socket-dir", str(directory))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as mirror:
            try:
                added = 0
                while added < len(self.remotes) and (line := mirror.stdout.readline()):
                    added += '"event":"added"' in line
                took = time.monotonic() - began
                time.sleep(5)
                before = measure.cpu_seconds(mirror.pid)
                time.sleep(REST_SECONDS)
                rest = (measure.cpu_seconds(mirror.pid) - before) / REST_SECONDS
                return {"mirrored": added, "mirrored_s": took, "pss_mib": measure.pss_mib(mirror.pid),
                        "pss_without_placeholders_mib": measure.pss_mib(mirror.pid, alone=True),
                        "cpu_at_rest_percent": 100 * rest}  # fmt: skip
            finally:
                mirror.terminate()


def measured(build: Path, work: Path, size: int) -> dict[str, float]:
    with ExitStack() as stack:
        fleet = Fleet(stack, build, work, size)
        ps_s, ps_rows = fleet.timed("ps")
        # Without the heading.
        return {"agents": size, "ps_s": ps_s, "ps_rows": ps_rows - 1, **fleet.mirror(work / f"mirror-{size}")}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where the binaries are")
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help=f"numbers of agents; {SIZES} otherwise")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="farport-fleet-") as work:
        make_certificates(options.build / "farport", Path(work) / "ca")
        for size in options.sizes:
            print(json.dumps(measured(options.build, Path(work), size)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
