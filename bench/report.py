"""The table, the goals, and docs/performance.md."""

import os
import platform
import statistics
from pathlib import Path

import goals
from goals import FLOOR, UNAUDITED, Beside
from measure import AT_ONCE

COLUMNS = [
    ("p50_us", "command p50 µs", "{:,.0f}"),
    ("rate", f"commands/s, {AT_ONCE} at once", "{:,.0f}"),
    ("cpu_per_1000", "agent side CPU s per 1,000", "{:.3f}"),
    ("mib", "one stream MiB/s", "{:,.0f}"),
    ("cpu_per_gib", "agent side CPU s per GiB", "{:.2f}"),
    ("four_mib", "four streams MiB/s", "{:,.0f}"),
    ("beside_p99_us", "p99 µs of a command beside a stream", "{:,.0f}"),
    ("beside_ten_p99_us", "... beside ten", "{:,.0f}"),
    ("pss", "agent side PSS at rest, MiB", "{:.1f}"),
]
NOT_MEASURED = "Not measured this time."
# Figures that a limit above its default is needed for, and the marks that say so; performance.md says which limits.
RAISED, RAISED_CONNECTIONS = " ¹", " ²"
RAISED_COLUMNS, RAISED_LINES = ("rate", "cpu_per_1000"), ("farport", UNAUDITED)
CONNECTIONS_PER_IDENTITY = 2000  # The default.
GROWTH = {
    "one_more_ms": "one more is seen after, ms",
    "placeholder_kib": "PSS of a placeholder, KiB",
    "pss_mib": "agent PSS, MiB",
    "cpu_at_rest_percent": "its CPU at rest, % of a core",
    "cpu_ms_per_1000_commands": "its CPU ms per 1,000 commands" + RAISED,
    "cpu_s_per_gib": "its CPU s per GiB",
}
FLEET = {
    "ps_s": "ps, s",
    "top_s": "top --rounds 1, s",
    "top_rows": "its rows",
    "mirrored_s": "all mirrored after, s",
    "pss_without_placeholders_mib": "the mirror's PSS, MiB",
    "cpu_at_rest_percent": "its CPU at rest, % of a core",
    "begin_seen_s": "a new runtime is seen after, s",
    "end_seen_s": "and its end, s",
    "turns": "turns of its event loop",
}
RIVALS = ["no tunnel", "ssh -L", "haproxy pair", UNAUDITED, FLOOR]


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}


def table(results: dict[str, dict]) -> str:
    lines = ["| | " + " | ".join(title for _, title, _ in COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name, values in results.items():
        raised = RAISED_COLUMNS if name in RAISED_LINES else ()
        cells = [
            form.format(values[key]) + (RAISED if key in raised else "") if values.get(key) else ""
            for key, _, form in COLUMNS
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    own = results["farport"]
    for rival in (each for each in RIVALS if each in results):
        cells = [
            f"{own[key] / results[rival][key]:.2f} ×" if results[rival].get(key) and own.get(key) else ""
            for key, _, _ in COLUMNS
        ]
        lines.append(f"| farport : {rival} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def goals_table(found: list[goals.Goal]) -> str:
    lines = ["| goal | measured | |", "| --- | ---: | --- |"]
    lines += [f"| {each.words} | {each.measured} | {'met' if each.met else '**missed**'} |" for each in found]
    return "\n".join(lines)


def network_table(results: dict[str, dict[str, float]]) -> str:
    """Of what network.py has measured: a line for each peer, a column for each network."""
    names = list(dict.fromkeys(name for column in results.values() for name in column))
    lines = ["| | " + " | ".join(results) + " |", "| --- |" + " ---: |" * len(results)]
    for name in names:
        cells = (f"{column[name]:,.2f}" if name in column else "" for column in results.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth_tables(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Of what growth.py has measured: a table for each kind, a line for each number."""
    tables = []
    for what, counts in results.items():
        keys = list(next(iter(counts.values())))
        lines = [f"| {what} | " + " | ".join(GROWTH[key] for key in keys) + " |", "|" + " ---: |" * (len(keys) + 1)]
        for count, values in counts.items():
            raised = RAISED_CONNECTIONS if what == "connections" and int(count) > CONNECTIONS_PER_IDENTITY else ""
            lines.append(f"| {int(count):,}{raised} | " + " | ".join(f"{values[key]:,.2f}" for key in keys) + " |")
        tables.append("\n".join(lines))
    picture = "![The agent's CPU per command and per GiB, and its memory, against these numbers](growth.svg)"
    return "\n\n".join([*tables, picture])


def memory_table(results: dict[str, float]) -> str:
    """Of what memory.py has measured."""
    lines = ["| | agent side PSS, MiB |", "| --- | ---: |"]
    return "\n".join([*lines, *(f"| {what} | {mib:.1f} |" for what, mib in results.items())])


def fleet_table(results: dict[str, dict]) -> str:
    """Of what fleet.py has measured: a line for each number of agents."""
    lines = ["| agents | " + " | ".join(FLEET.values()) + " |", "|" + " ---: |" * (len(FLEET) + 1)]
    for size, values in results.items():
        cells = (f"{values[key]:,.1f}" if isinstance(values.get(key), float) else str(values.get(key, "")) for key in FLEET)
        lines.append(f"| {int(size):,} | " + " | ".join(cells) + " |")
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


def document(results: dict[str, dict], versions: list[str], rounds: int, load: tuple[float, float], beside: Beside) -> str:
    """docs/performance.md: performance.md here, with what was measured put in."""
    return filled("performance.md", {
        "machine": machine(),
        "load": f"{load[0]:.1f} before and {load[1]:.1f} after",
        "versions": "\n".join(f"- {version}" for version in versions),
        "rounds": str(rounds),
        "table": table(results),
        "goals": goals_table(goals.all_goals(results, beside)),
        "network": network_table(beside.network) if beside.network else NOT_MEASURED,
        "growth": growth_tables(beside.growth) if beside.growth else NOT_MEASURED,
        "memory": memory_table(beside.memory) if beside.memory else NOT_MEASURED,
        "fleet": fleet_table(beside.fleet) if beside.fleet else NOT_MEASURED,
    })  # fmt: skip


def filled(template: str, values: dict[str, str]) -> str:
    """A text of this directory, with what was measured put in for each @name@."""
    text = (Path(__file__).parent / template).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
