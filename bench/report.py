"""The table, the goals, and docs/performance.md."""

import json
import os
import platform
import statistics
from pathlib import Path

COLUMNS = [
    ("p50_us", "command p50 µs", "{:,.0f}"),
    ("rate", "commands/s, 16 at once", "{:,.0f}"),
    ("cpu_per_1000", "agent side CPU s per 1,000", "{:.3f}"),
    ("mib", "one stream MiB/s", "{:,.0f}"),
    ("cpu_per_gib", "agent side CPU s per GiB", "{:.2f}"),
    ("beside_p99_us", "p99 µs of a command beside a stream", "{:,.0f}"),
    ("pss", "agent side PSS at rest, MiB", "{:.1f}"),
]
UNAUDITED = "farport, no rules, no audit"
FLOOR = "the floor"
RIVALS = ["no tunnel", "ssh -L", "haproxy pair", UNAUDITED, FLOOR]


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def table(results: dict[str, dict]) -> str:
    lines = ["| | " + " | ".join(title for _, title, _ in COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name, values in results.items():
        cells = ["" if not values.get(key) else form.format(values[key]) for key, _, form in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    own = results["farport"]
    for rival in (each for each in RIVALS if each in results):
        cells = [
            f"{own[key] / results[rival][key]:.2f} ×" if results[rival].get(key) and own.get(key) else ""
            for key, _, _ in COLUMNS
        ]
        lines.append(f"| farport : {rival} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def goals(results: dict[str, dict]) -> list[tuple[str, str, bool]]:
    """Each goal: its words, what was measured, and whether it is met. Goals whose rival is missing are left out."""
    own = results["farport"]
    found = [("the agent at rest holds at most 4 MiB (PSS)", f"{own['pss']:.1f} MiB", own["pss"] <= 4)]

    def ratio(rival: str | None, key: str, words: str, met) -> None:
        if rival in results:
            measured = own[key] / results[rival][key]
            found.append((words, f"{measured:.2f} ×", met(measured)))

    tunnels = [name for name in results if name not in ("no tunnel", "farport", UNAUDITED, FLOOR)]
    fastest = max(tunnels, key=lambda name: results[name]["mib"], default=None)
    thriftiest = min(tunnels, key=lambda name: results[name]["cpu_per_gib"], default=None)
    ratio("no tunnel", "p50_us", "a command's p50 is at most 2.2 × no tunnel's", lambda x: x <= 2.2)
    ratio("ssh -L", "rate", "at least 2 × ssh's commands/s", lambda x: x >= 2)
    ratio("haproxy pair", "rate", "and 10 × haproxy's", lambda x: x >= 10)
    ratio("ssh -L", "cpu_per_1000", "for at most half of ssh's CPU", lambda x: x <= 0.5)
    ratio(fastest, "mib", f"one stream at least 1.4 × as fast as the fastest other's ({fastest})", lambda x: x >= 1.4)
    ratio(thriftiest, "cpu_per_gib", f"for at most 0.6 × the CPU of the thriftiest ({thriftiest})", lambda x: x <= 0.6)
    ratio(FLOOR, "cpu_per_gib", "and 1.4 × the floor's", lambda x: x <= 1.4)
    found.append(("p99 of a command beside a stream is at most 2 ms", f"{own['beside_p99_us'] / 1000:.1f} ms",
                  own["beside_p99_us"] <= 2000))  # fmt: skip
    ratio(UNAUDITED, "rate", "21 grants and the audit cost less than 5% of the commands/s", lambda x: x > 0.95)
    large = own["large"]
    share = large["dump"] / large["stream"]
    words = f"a dump of {large['size']:,} MiB crosses at least half as fast as a plain stream"
    found.append((words, f"{share:.2f} × ({large['dump']:,.0f} MiB/s)", share >= 0.5))
    found.append(("... and the agent grows by less than 32 MiB", f"{large['growth']:.1f} MiB", large["growth"] < 32))
    return found


def goals_table(results: dict[str, dict]) -> str:
    lines = ["| goal | measured | |", "| --- | ---: | --- |"]
    lines += [f"| {words} | {measured} | {'met' if met else '**missed**'} |" for words, measured, met in goals(results)]
    return "\n".join(lines)


def network_table(results: dict[str, dict[str, float]]) -> str:
    """Of what network.py has measured: a line for each peer, a column for each network."""
    names = list(next(iter(results.values())))
    lines = ["| | " + " | ".join(results) + " |", "| --- |" + " ---: |" * len(results)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(f"{column[name]:,.1f}" for column in results.values()) + " |")
    return "\n".join(lines)


def machine() -> str:
    def first(path: str, key: str) -> str:
        with open(path, encoding="utf-8") as lines:
            return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "?")

    memory = int(first("/proc/meminfo", "MemTotal").split()[0]) / (1 << 20)
    system = first_value("/etc/os-release", "PRETTY_NAME=")
    processor = first("/proc/cpuinfo", "model name")
    return f"{os.cpu_count()} cores ({processor}), {memory:.0f} GiB, {system}, Linux {platform.release()}"


def first_value(path: str, key: str) -> str:
    with open(path, encoding="utf-8") as lines:
        return next((line[len(key) :].strip().strip('"') for line in lines if line.startswith(key)), "?")


def document(results: dict[str, dict], versions: list[str], rounds: int, load: tuple[float, float],
             network: Path | None) -> str:  # fmt: skip
    """docs/performance.md: performance.md here, with what was measured put in."""
    text = (Path(__file__).parent / "performance.md").read_text(encoding="utf-8")
    values = {
        "machine": machine(),
        "load": f"{load[0]:.1f} before and {load[1]:.1f} after",
        "versions": "\n".join(f"- {version}" for version in versions),
        "rounds": str(rounds),
        "table": table(results),
        "goals": goals_table(results),
        "network": network_table(json.loads(network.read_text())) if network else "Not measured this time.",
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
