"""A large dump: how fast it crosses, and what that takes of the agent's memory."""

import subprocess
import tempfile
import time
from pathlib import Path

import measure
from peers.base import wait_until
from peers.farport import FarportUnaudited

MIB = 1 << 20


def memory_mib(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0


class WithDumps(FarportUnaudited):
    """An agent whose runtimes write their dumps into memory, so that no disk is measured."""

    def __init__(self, setting, directory: Path):
        super().__init__(setting)
        self.dumps = directory

    def rules(self) -> list[str]:
        return [*super().rules(), "--dump-directory", str(self.dumps)]

    def dump_command(self, target: Path) -> list[str]:
        return [str(self.setting.farport), "dump", f"{self.setting.host}:{self.port}/bench", "-o", str(target), *self._tls("tool")]


def seconds_to_send(peer: WithDumps, target: Path) -> float:
    """From when the runtime has written the dump, and the agent has taken its name away, to the end."""

    def writing() -> bool:
        return any(peer.dumps.glob(".farport-dump-*"))

    with subprocess.Popen(peer.dump_command(target), stdout=subprocess.DEVNULL) as dump:
        wait_until(writing, "the dump")
        wait_until(lambda: not writing(), "the dump's end", 300)
        began = time.monotonic()
        if dump.wait(300) != 0:
            raise RuntimeError(f"farport dump ended with {dump.returncode}")
        return time.monotonic() - began


def measure_dump(setting, bench: measure.Bench, mebibytes: int) -> dict[str, float]:
    """MiB/s of a dump of that size and of a plain stream through the same tunnel, and the agent's growth."""
    with tempfile.TemporaryDirectory(prefix="farport-bench-", dir="/dev/shm") as memory:
        peer = WithDumps(setting, Path(memory))
        try:
            peer.start_agent()
            peer.start_mirror()
            rest = memory_mib(peer.agent.pid, "VmRSS")
            target = Path(memory) / "target.dmp"
            seconds = seconds_to_send(peer, target)
            if target.stat().st_size != mebibytes * MIB:
                raise RuntimeError("the dump has another size")
            peak = memory_mib(peer.agent.pid, "VmHWM")
            target.unlink()
            stream = bench.load(peer, "stream", 2.0)["mib_per_second"]
        finally:
            peer.stop()
    return {"size": mebibytes, "dump": mebibytes / seconds, "stream": stream, "growth": peak - rest}
