"""What a tunnel does under load, and what its runtime's side costs."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
GIB = 1 << 30
AT_ONCE = 32  # Commands.


@dataclass(frozen=True)
class Plan:
    """How much of each load makes a round."""

    rounds: int
    commands: int  # One by one, at most;
    command_seconds: float  # ... and at most so long.
    seconds: float  # Of each of the other loads.
    dump_mebibytes: int  # The size of the dump.


FULL = Plan(rounds=4, commands=1000, command_seconds=1.0, seconds=1.5, dump_mebibytes=2048)
QUICK = Plan(rounds=2, commands=300, command_seconds=0.5, seconds=0.7, dump_mebibytes=512)


def process_tree(pid: int) -> list[int]:
    pids = [pid]
    for parent in pids:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += [int(child) for child in task.read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass
    return pids


def cpu_seconds(pid: int) -> float:
    """Of the process, its living children, and all children that were waited for."""
    ticks = 0
    for each in process_tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += sum(int(field) for field in fields[11:15])  # utime, stime, cutime, cstime
    return ticks / TICK


def pss_mib(pid: int, alone: bool = False) -> float:
    """The proportional set size of the process, and of its children unless it is `alone`."""
    kib = 0
    for each in [pid] if alone else process_tree(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            if each == pid:
                raise
            continue
        for line in lines:
            if line.startswith("Pss:"):
                kib += int(line.split()[1])
    return kib / 1024


class Bench:
    """Runs the loads of one round against one tunnel."""

    def __init__(self, client: Path, plan: Plan, stream_file: Path | None = None):
        self.client = client
        self.plan = plan
        # What the runtime streams, if it was told: the client compares.
        self.stream_file = ["--stream-file", str(stream_file)] if stream_file else []

    def load(self, peer, *arguments) -> dict:
        command = [str(self.client), str(peer.tool_socket), *map(str, arguments), *self.stream_file]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"{peer.name}: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def with_cpu(self, peer, *arguments) -> tuple[dict, float]:
        """The load's result, and the CPU seconds of the runtime's side; 0 without a tunnel."""
        if peer.agent is None:
            return self.load(peer, *arguments), 0.0
        before = cpu_seconds(peer.agent.pid)
        result = self.load(peer, *arguments)
        time.sleep(0.2)  # Connections under way end.
        return result, cpu_seconds(peer.agent.pid) - before

    def floor(self, peer) -> dict[str, float]:
        """What a stream costs at least: read, encrypted and written to TCP, by one process."""
        found = self.load(peer, "floor", self.plan.seconds)
        return {"mib": found["mib_per_second"], "cpu_per_gib": found["cpu_seconds"] / (found["bytes"] / GIB)}

    def rate(self, peer) -> dict[str, float]:
        """Of commands, many at once."""
        rate, cpu = self.with_cpu(peer, "rate", self.plan.seconds, AT_ONCE)
        return {"rate": rate["per_second"], "cpu_per_1000": cpu / rate["commands"] * 1000}

    def round(self, peer) -> dict[str, float]:
        plan = self.plan
        latency = self.load(peer, "latency", plan.commands, plan.command_seconds)
        rate = self.rate(peer)
        stream, stream_cpu = self.with_cpu(peer, "stream", plan.seconds)
        four = self.load(peer, "stream", plan.seconds, 4)
        beside = self.load(peer, "beside", plan.seconds)
        beside_ten = self.load(peer, "beside", plan.seconds, 10)
        return {
            "p50_us": latency["p50_us"],
            **rate,
            "mib": stream["mib_per_second"],
            "cpu_per_gib": stream_cpu / (stream["bytes"] / GIB),
            "four_mib": four["mib_per_second"],
            "beside_p99_us": beside["p99_us"],
            "beside_ten_p99_us": beside_ten["p99_us"],
        }
