#!/usr/bin/env python3
"""Measures farport beside its peers, all in one run, and prints the table."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dump
import goals
import measure
import peers
import report
from peers.base import Peer, Setting, wait_until
from peers.direct import Direct

ROOT = Path(__file__).resolve().parent.parent
# Until whatever starts has settled, and done once what it does now and then.
REST_SECONDS = 8
# The other programs that measure, as goals.Beside names them.
BESIDE = ("network", "growth", "memory", "fleet")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where the binaries are")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", metavar="WORD", action="append", help="only peers with this in their name")
    parser.add_argument("--rounds", type=int, help="how many rounds, instead of the plan's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round's figures there")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    for program in BESIDE:
        parser.add_argument(f"--{program}", type=Path, metavar="FILE", help=f"what {program}.py --json wrote, for the goals")
    return parser.parse_args()


def make_certificates(farport: Path, directory: Path, host: str = "127.0.0.1") -> None:
    for arguments in (
        ["init", directory],
        ["server", directory, "--name", "agent", "--dns", "agent", "--ip", host],
        ["client", directory, "--name", "tool"],
    ):
        subprocess.run([farport, "certs", *arguments], check=True, stdout=subprocess.DEVNULL)


def weigh_at_rest(kind: type[Peer], setting: Setting) -> float:
    """The memory of the runtime's side, without the other side and the other peers, which would share pages."""
    peer = kind(setting)
    try:
        peer.start_agent()
        if peer.agent is None:
            return 0
        time.sleep(REST_SECONDS)
        return measure.pss_mib(peer.agent.pid)
    finally:
        peer.stop()


def run_rounds(bench: measure.Bench, all_peers: list[Peer]) -> dict[str, list[dict[str, float]]]:
    rounds: dict[str, list[dict[str, float]]] = {peer.name: [] for peer in all_peers}
    direct = next((peer for peer in all_peers if peer.name == Direct.name), None)
    if direct:
        rounds[report.FLOOR] = []
    for number in range(bench.plan.rounds):
        for peer in all_peers:
            print(f"round {number + 1} of {bench.plan.rounds}: {peer.name}", file=sys.stderr)
            rounds[peer.name].append(bench.rate(peer) if peer.name == goals.LIMITED else bench.round(peer))
        if direct:
            rounds[report.FLOOR].append(bench.floor(direct))
    return rounds


def measure_all(options: argparse.Namespace, plan: measure.Plan, work: Path):
    """Every peer's rounds, medians with memory, and the versions."""
    kinds = [kind for kind in peers.ALL if not options.only or any(word in kind.name for word in options.only)]
    farport, certificates = options.build / "farport", work / "ca"
    # In a directory of its own: farport watches it, and would wake at what others do there.
    runtime_socket = work / "runtime" / "runtime.sock"
    runtime_socket.parent.mkdir()
    make_certificates(farport, certificates)

    def setting(name: str) -> Setting:
        return Setting(work / name, certificates, runtime_socket, farport)

    size = dump.MIB * plan.dump_mebibytes
    runtime = subprocess.Popen([options.build / "fake_runtime", runtime_socket, "--dump", f"bytes:{size}"],
                               stdout=subprocess.DEVNULL)  # fmt: skip
    running: list[Peer] = []
    try:
        wait_until(runtime_socket.exists, "the fake runtime")
        pss = {kind.name: weigh_at_rest(kind, setting(f"rest{at}")) for at, kind in enumerate(kinds)}
        bench = measure.Bench(options.build / "farport_bench", plan)
        for at, kind in enumerate(kinds):
            peer = kind(setting(f"peer{at}"))
            running.append(peer)
            peer.start_agent()
            peer.start_mirror()
            bench.load(peer, "latency", 50, 1)
        rounds = run_rounds(bench, running)
        large = dump.measure_dump(setting("dump"), bench, plan.dump_mebibytes)
        after = {peer.name: measure.pss_mib(peer.agent.pid) for peer in running if peer.agent}
    finally:
        for peer in running:
            peer.stop()
        runtime.terminate()
        runtime.wait()
    results = {
        name: {**report.medians(each), "pss": pss.get(name, 0), "pss_after": after.get(name, 0)}
        for name, each in rounds.items()
    }
    versions = dict.fromkeys(f"{peer.version(peer.setting)}{f' ({peer.note})' if peer.note else ''}" for peer in running)
    if "farport" in results:
        results["farport"]["large"] = large
    return rounds, results, [version for version in versions if version]


def main() -> int:
    options = parse_arguments()
    plan = measure.QUICK if options.quick else measure.FULL
    if options.rounds:
        plan = dataclasses.replace(plan, rounds=options.rounds)
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="farport-bench-") as work:
        rounds, results, versions = measure_all(options, plan, Path(work))
    if options.json:
        options.json.write_text(json.dumps({"rounds": rounds, "medians": results}, indent=2) + "\n")
    print(report.table(results))
    if "farport" in results:
        files = (getattr(options, program) for program in BESIDE)
        beside = goals.Beside(*(json.loads(file.read_text()) if file else {} for file in files))
        print("\n" + report.goals_table(goals.all_goals(results, beside)))
        print(f"\nThe agent's PSS after all that: {results['farport']['pss_after']:.1f} MiB")
    if options.write and "farport" in results:
        load = (load_before, os.getloadavg()[0])
        text = report.document(results, versions, plan.rounds, load, beside)
        (ROOT / "docs/performance.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
