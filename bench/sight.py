#!/usr/bin/env python3
"""Measures what it costs an application to be looked at, how soon there is something to see, and what that takes of
memory; prints the tables. dotnet-trace does the same beside farport's own commands, through the same agent."""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from operator import itemgetter
from pathlib import Path

import measure
import sight_report
from dotnet import SOCKETS, FarportFound
from dump import MIB, memory_mib
from peers.base import Setting, wait_until
from run import REST_SECONDS, make_certificates

ROOT = Path(__file__).resolve().parent.parent
SLEEPING = 50
TRACE_SLEEPING = 600  # So that a trace grows quickly: each is sampled like one that computes.
TRACE_MEBIBYTES = 64
LONGEST_SECONDS = 600
UNTIL_RECORDED_SECONDS = 2  # From its start to the end of what a session does to the runtime at first, and back.


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rounds: int
    seconds: int  # Of a profile.
    trace_mebibytes: int


FULL = Plan(rounds=5, seconds=10, trace_mebibytes=TRACE_MEBIBYTES)
QUICK = Plan(rounds=2, seconds=5, trace_mebibytes=8)


class Busy:
    """An application that keeps as many threads busy as there are cores, while others sleep; its diagnostic socket is in
    `tmp`."""

    def __init__(self, program: Path, tmp: Path, sleeping: int):
        tmp.mkdir()
        environment = {**os.environ, "TMPDIR": str(tmp), "DOTNET_NOLOGO": "1"}
        self.process = subprocess.Popen([program, str(os.cpu_count()), str(sleeping)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment, text=True)  # fmt: skip
        wait_until(lambda: list(tmp.glob(SOCKETS)), "the application's socket")

    def priced(self) -> int:
        """How many orders it has priced."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Peak(threading.Thread):
    """The most that `weigh` says until it is closed, or there is nothing to weigh any more."""

    def __init__(self, weigh, pause: float):
        super().__init__(daemon=True)
        self.weigh, self.pause = weigh, pause
        self.mib = 0.0
        self.enough = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.enough.wait(self.pause):
            try:
                self.mib = max(self.mib, self.weigh())
            except (FileNotFoundError, ProcessLookupError):
                pass  # A process has ended meanwhile.

    def close(self) -> float:
        self.enough.set()
        self.join()
        return self.mib


def own_mib(pid: int) -> float:
    """Memory that is not a file's, which other processes could share and the kernel could read again."""
    return memory_mib(pid, "RssAnon") + memory_mib(pid, "RssShmem")


def run_tool(command: list, tmp: Path | None = None) -> dict[str, float]:
    """Runs it to its end: how long it took, and the most memory that it had, in all and of its own."""
    environment = {**os.environ, "DOTNET_NOLOGO": "1"} | ({"TMPDIR": str(tmp)} if tmp else {})
    began = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=environment) as tool:  # fmt: skip
        resident, own = Peak(lambda: memory_mib(tool.pid, "VmHWM"), 0.01), Peak(lambda: own_mib(tool.pid), 0.01)
        said = tool.communicate(timeout=LONGEST_SECONDS)[1]
        seconds, mib, own = time.monotonic() - began, resident.close(), own.close()
    if tool.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {tool.returncode}: {said.decode(errors='replace')}")
    return {"seconds": seconds, "mib": mib, "own_mib": own}


class Sight:
    """One application, its agent, and whatever looks at it."""

    def __init__(self, options, plan: Plan, work: Path):
        self.options, self.plan, self.work = options, plan, work
        self.farport = options.build / "farport"
        make_certificates(self.farport, work / "ca")
        self.application = Busy(options.busy, work / "busy", SLEEPING)
        self.peer = FarportFound(Setting(work / "peer", work / "ca", work / "none", self.farport), work / "busy")

    def close(self) -> None:
        self.peer.stop()
        self.application.stop()

    def rest(self) -> None:
        time.sleep(self.plan.seconds)

    def profile(self, ending: str = "html") -> dict[str, float]:
        target = self.work / f"profile.{ending}"
        return run_tool(self.peer.command("profile", "--duration", f"{self.plan.seconds}s", "--force", "-o", str(target)))

    def trace(self) -> dict[str, float]:
        """dotnet-trace's samples of all threads."""
        pid = next(self.peer.sockets.glob(SOCKETS)).name.split("-")[2]
        command = collect_command(self.options.dotnet_trace, pid, self.work / "x.nettrace")
        length = time.strftime("%H:%M:%S", time.gmtime(self.plan.seconds))
        return run_tool([*command, "--duration", length], self.peer.sockets)

    @contextlib.contextmanager
    def recorder(self, name: str):
        """An agent that keeps the last minutes of the application, once its session runs."""
        path, ended = self.work / "recorder.sock", self.work / "ended"
        ended.mkdir(mode=0o700, exist_ok=True)
        file = self.work / "recorder.toml"
        of_all = name == sight_report.WHOLE_RECORDER
        file.write_text(f'[recorder]\nkeep = true\n[artifacts]\ndirectory = "{ended}"\n' if of_all else "[recorder]\nkeep = true\nsamples = false\n")
        command = [self.farport, "serve", "--config", file, "--local", path, "--allow-local", "root=observer", "--search",
                   self.work / "busy"]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as agent:
            wait_until(path.exists, "the recorder's socket")
            time.sleep(UNTIL_RECORDED_SECONDS)
            yield agent
            agent.send_signal(signal.SIGTERM)
        time.sleep(UNTIL_RECORDED_SECONDS)

    def measured(self, name: str, look) -> dict[str, float]:
        """A round; of the recorder with it."""
        if name not in sight_report.RECORDERS:
            return self.round(look)
        with self.recorder(name) as agent:
            return {**self.round(look, agent), "recorder_mib": measure.pss_mib(agent.pid)}

    def round(self, look, *others) -> dict[str, float]:
        """What the application gets done while `look` lasts, by the clock and by what its host's processors work for it."""
        def used() -> float:
            return sum(measure.cpu_seconds(each.pid) for each in (self.application.process, self.peer.agent, *others))

        began, cpu, priced = time.monotonic(), used(), self.application.priced()
        found = look() or {}
        done, seconds, spent = self.application.priced() - priced, time.monotonic() - began, used() - cpu
        return {**found, "per_second": done / seconds, "per_cpu_second": done / spent}

    def rounds(self) -> dict[str, list[dict[str, float]]]:
        """Each way to look, between rounds in which nobody does."""
        ways = {sight_report.NOTHING: self.rest, sight_report.PROFILE: self.profile, sight_report.TRACE: self.trace,
                **{name: self.rest for name in sight_report.RECORDERS}}  # fmt: skip
        rounds = {name: [] for name in ways}
        self.rest()  # Until what is busy has been compiled for good.
        for number in range(self.plan.rounds):
            print(f"round {number + 1} of {self.plan.rounds}", file=sys.stderr)
            for name in sight_report.LOOKS:
                for each in (sight_report.NOTHING, name):
                    rounds[each].append(self.measured(each, ways[each]))
        rounds[sight_report.NOTHING].append(self.round(self.rest))
        return rounds

    def measure(self) -> dict:
        self.peer.start_agent()
        time.sleep(REST_SECONDS)
        results = {"seconds": self.plan.seconds, "at_rest_mib": measure.pss_mib(self.peer.agent.pid)}
        self.peer.start_mirror()
        results["rounds"] = self.rounds()
        peak = Peak(lambda: measure.pss_mib(self.peer.agent.pid), 0.2)
        self.profile("speedscope.json")
        results["profiling_mib"] = peak.close()
        results["names"] = sight_report.names(json.loads((self.work / "profile.speedscope.json").read_text()))
        results["counters"] = run_tool(self.peer.command("counters", "--duration", f"{self.plan.seconds}s"))
        return results


def collect_command(dotnet_trace: Path, pid: str, target: Path) -> list:
    return [dotnet_trace, "collect", "-p", pid, "--profile", "dotnet-sampled-thread-time", "-o", target]


def record(options, work: Path, mebibytes: int) -> Path:
    """A trace of samples that is so large."""
    target, tmp = work / "long.nettrace", work / "long"
    application = Busy(options.busy, tmp, TRACE_SLEEPING)
    try:
        command = collect_command(options.dotnet_trace, str(application.process.pid), target)
        environment = {**os.environ, "TMPDIR": str(tmp)}
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment) as tool:
            wait_until(lambda: target.exists() and target.stat().st_size >= mebibytes * MIB, "the recording", LONGEST_SECONDS)
            tool.send_signal(signal.SIGINT)
        return target
    finally:
        application.stop()


def measure_conversion(options, work: Path, plan: Plan) -> dict[str, dict[str, float]]:
    print("a long recording", file=sys.stderr)
    trace = record(options, work, plan.trace_mebibytes)
    farport = [options.build / "farport", "convert", trace, "--force", "-o"]
    found = {
        "farport, .html": sorted((run_tool([*farport, work / "x.html"]) for _ in range(3)), key=itemgetter("seconds"))[1],
        "farport, .speedscope.json": run_tool([*farport, work / "x.speedscope.json"]),
        "dotnet-trace, Speedscope": run_tool([options.dotnet_trace, "convert", trace, "--format", "Speedscope", "-o", work / "y"]),
    }
    return {"mib": trace.stat().st_size / MIB, "tools": found}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where farport is")
    parser.add_argument("--busy", type=Path, default=ROOT / "build/dotnet/bin/busy/release/busy", help="bench/busy")
    parser.add_argument("--dotnet-trace", type=Path, default=ROOT / "build/tools/dotnet-trace")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--rounds", type=int, help="how many rounds, instead of the plan's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round's figures there")
    parser.add_argument("--write", action="store_true", help="write docs/sight.md")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    plan = QUICK if options.quick else FULL
    if options.rounds:
        plan = dataclasses.replace(plan, rounds=options.rounds)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="farport-bench-") as name:
        work = Path(name)
        sight = Sight(options, plan, work)
        try:
            results = sight.measure()
        finally:
            sight.close()
        results["conversion"] = measure_conversion(options, work, plan)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(sight_report.tables(results))
    if options.write:
        versions = [sight.peer.version(sight.peer.setting), f"dotnet-trace {version_of(options.dotnet_trace)}"]
        (ROOT / "docs/sight.md").write_text(sight_report.document(results, load, versions), encoding="utf-8")
    return 0


def version_of(program: Path) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
