"""What farport wants to be, and whether it is, by what was measured."""

from dataclasses import dataclass

UNAUDITED = "farport, no rules, no audit"
LIMITED = "farport, default limits"
STDIO = "farport, over a command"
FLOOR = "the floor"
COMPRESSING = ("ssh -C -L", "farport")


@dataclass(frozen=True)
class Goal:
    words: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Beside:
    """What the programs beside run.py have measured; empty where they have not."""

    network: dict
    growth: dict
    memory: dict
    fleet: dict


def all_goals(results: dict, beside: Beside) -> list[Goal]:
    """Those for which there is something measured, `results` by run.py."""
    return [
        *on_one_machine(results),
        *over_network(beside.network),
        *as_it_grows(beside.growth),
        *memory(beside.memory),
        *of_a_fleet(beside.fleet),
    ]


def on_one_machine(results: dict[str, dict]) -> list[Goal]:
    """Goals whose rival is missing are left out."""
    own = results["farport"]
    found = []

    def ratio(rival: str | None, key: str, words: str, met) -> None:
        if rival in results:
            measured = own[key] / results[rival][key]
            found.append(Goal(words, f"{measured:.2f} ×", met(measured)))

    tunnels = [name for name in results if name not in ("no tunnel", "farport", LIMITED, STDIO, UNAUDITED, FLOOR)]
    fastest = max(tunnels, key=lambda name: results[name]["mib"], default=None)
    thriftiest = min(tunnels, key=lambda name: results[name]["cpu_per_gib"], default=None)
    ratio("ssh -L", "p50_us", "a command's p50 is at most 0.70 × ssh's", lambda x: x <= 0.7)
    ratio("ssh -L", "rate", "at least 2 × ssh's commands/s (limit raised)", lambda x: x >= 2)
    ratio("haproxy pair", "rate", "and 10 × haproxy's", lambda x: x >= 10)
    ratio("ssh -L", "cpu_per_1000", "for at most half of ssh's CPU", lambda x: x <= 0.5)
    ratio(fastest, "mib", f"one stream at least 1.15 × as fast as the fastest other's ({fastest})", lambda x: x >= 1.15)
    ratio(thriftiest, "cpu_per_gib", f"for at most 0.8 × the CPU of the thriftiest ({thriftiest})", lambda x: x <= 0.8)
    ratio(FLOOR, "cpu_per_gib", "and 1.15 × the floor's", lambda x: x <= 1.15)
    four = own["four_mib"] / own["mib"]
    found.append(Goal("four streams at once carry at least as much as one", f"{four:.2f} ×", four >= 1))
    for key, words, most_ms in (("beside_p99_us", "a stream", 2), ("beside_ten_p99_us", "ten streams", 5)):
        measured = own[key] / 1000
        found.append(Goal(f"p99 of a command beside {words} is at most {most_ms} ms", f"{measured:.1f} ms", measured <= most_ms))
    ratio(UNAUDITED, "rate", "21 grants and the audit cost less than 5% of the commands/s", lambda x: x > 0.95)
    if STDIO in results:
        carried = results[STDIO]["mib"] / own["mib"]
        found.append(Goal("a command's input and output carry at least 0.8 × what TLS does", f"{carried:.2f} ×", carried >= 0.8))
    large = own["large"]
    share = large["dump"] / large["stream"]
    words = f"a dump of {large['size']:,} MiB crosses at least half as fast as a plain stream"
    found.append(Goal(words, f"{share:.2f} × ({large['dump']:,.0f} MiB/s)", share >= 0.5))
    grown = large["growth"]
    found.append(Goal("... and the agent grows by less than 32 MiB", f"{grown:.1f} MiB", grown < 32))
    return found


def over_network(network: dict[str, dict[str, float]]) -> list[Goal]:
    if not network:
        return []

    def column(start: str) -> dict[str, float]:
        return next(values for title, values in network.items() if title.startswith(start))

    near, far = (values["farport"] for title, values in network.items() if title.startswith("first local socket"))
    round_trips = (far - near) / column("TCP alone")["farport"] - 1
    command = column("command, ms")["farport"] / 50
    stream = column("one stream")["farport --compression never"] / 1000
    trace = column("a real trace")
    plain = min(seconds for name, seconds in trace.items() if name not in COMPRESSING)
    beside = column("p99")["farport"] / 50
    return [
        Goal("the first local socket is there at most 2 round trips after TCP's", f"{round_trips:.2f}", round_trips <= 2.05),
        Goal("at 50 ms a command's p50 is at most 1.05 round trips", f"{command:.2f}", command <= 1.05),
        *dotnet_over_network(network),
        Goal("at 100 ms and 1 Gbit/s one stream takes at least 90% of the link", f"{100 * stream:.0f}%", stream >= 0.9),
        Goal("at 20 Mbit/s a real trace is at least 4 × as fast as the best without compression",
             f"{plain / trace['farport']:.1f} ×", plain / trace["farport"] >= 4),
        Goal("at 20 Mbit/s and 1% loss p99 of a command beside a trace is at most 5 round trips", f"{beside:.1f}", beside <= 5),
    ]  # fmt: skip


def dotnet_over_network(network: dict[str, dict[str, float]]) -> list[Goal]:
    """Where there was a .NET to measure it with."""
    found = []
    for title, values in network.items():
        if title.startswith("dotnet-trace"):
            more = (values["farport"] - values["no tunnel"]) / 0.05
            words = "at 50 ms dotnet-trace takes at most 5 round trips longer than without a tunnel"
            found.append(Goal(words, f"{more:.1f}", more <= 5))
    return found


def as_it_grows(growth: dict[str, dict[str, dict[str, float]]]) -> list[Goal]:
    if not growth:
        return []
    connections, runtimes = growth["connections"], growth["runtimes"]
    most, fewest = (str(pick(int(count) for count in connections)) for pick in (max, min))
    each = (connections[most]["pss_mib"] - connections[fewest]["pss_mib"]) * 1024 / int(most)
    busiest = max(values["cpu_at_rest_percent"] for counts in growth.values() for values in counts.values())
    last, first = (runtimes[str(pick(int(count) for count in runtimes))] for pick in (max, min))
    placeholder = last["placeholder_kib"]
    return [
        Goal(f"an open, idle diagnostic connection takes at most 6 KiB (PSS), with {int(most):,} of them (limit raised)", f"{each:.1f} KiB", each <= 6),
        Goal("the agent at rest takes less than 1% of a core, whatever is open", f"{busiest:.2f}%", busiest < 1),
        Goal("one more runtime is seen as quickly beside a thousand as beside one",
             f"{last['one_more_ms']:.0f} and {first['one_more_ms']:.0f} ms",
             last["one_more_ms"] <= 1.5 * first["one_more_ms"]),
        Goal("a placeholder takes at most 300 KiB (PSS)", f"{placeholder:.0f} KiB", placeholder <= 300),
    ]  # fmt: skip


def memory(results: dict[str, float]) -> list[Goal]:
    limits = {"at the start": 5, "settled": 3.5}
    found = []
    for what, mib in results.items():
        limit = limits.get(what, 4.5)
        found.append(Goal(f"the agent holds at most {limit:g} MiB (PSS) {what}", f"{mib:.1f} MiB", mib <= limit))
    return found


def of_a_fleet(results: dict[str, dict]) -> list[Goal]:
    if not results:
        return []
    size, most = max(results.items(), key=lambda each: int(each[0]))
    goals = [
        ("ps_s", "farport ps of {} agents takes at most 2 s, with all rows", "{:.1f} s", 2),
        ("top_s", "farport top --rounds 1 of {} agents takes at most 4 s, with all rows", "{:.1f} s", 4),
        ("mirrored_s", "{} agents are all mirrored within 3 s", "{:.1f} s", 3),
        ("pss_without_placeholders_mib", "their mirror holds at most 48 MiB (PSS)", "{:.0f} MiB", 48),
        ("cpu_at_rest_percent", "and takes at most 1% of a core at rest", "{:.1f}%", 1),
    ]
    # How many there must be for the figure to count.
    counts = {"ps_s": "ps_rows", "top_s": "top_rows"}
    whole = {key: most[counts.get(key, "mirrored")] == int(size) for key, *_ in goals if key in most}
    found = [
        Goal(words.format(f"{int(size):,}"), form.format(most[key]), most[key] <= limit and whole[key])
        for key, words, form, limit in goals
        if key in most
    ]
    return [*found, Goal("and no turn of its event loop is above 5 ms", most["turns"], most["turns"].startswith("none"))]
