"""The tables of sight.py, the goals, and docs/sight.md."""

import os
import statistics

import report
from goals import Goal

NOTHING, PROFILE, TRACE = "nobody looks", "farport profile, 99 Hz", "dotnet-trace, dotnet-sampled-thread-time"
RECORDER = "farport serve --recorder, without samples"
WHOLE_RECORDER = "farport serve --recorder --artifacts"
RECORDERS = (RECORDER, WHOLE_RECORDER)
LOOKS = (PROFILE, TRACE, *RECORDERS)  # In this order, with a round of nothing before and after each.
COUNTED = {"per_cpu_second": "orders per CPU second", "per_second": "orders per second"}


def names(speedscope: dict) -> dict[str, float]:
    """How many samples there are of managed code, how many of them have names for all of it, and how many frames have no
    module. What is compiled at run time lies in a memory of its own."""
    frames = speedscope["shared"]["frames"]

    def is_managed(frame: dict) -> bool:
        return frame.get("file", "").endswith(".dll") or frame.get("file") == "memfd:doublemapper"

    def is_named(frame: dict) -> bool:
        return f"{frame['file']}+0x" not in frame["name"]

    found = {"samples": 0, "managed": 0, "named": 0, "nowhere": 0}
    interval = min((weight for each in speedscope["profiles"] for weight in each["weights"]), default=1)
    for each in speedscope["profiles"]:
        for stack, weight in zip(each["samples"], each["weights"], strict=True):
            managed = [frames[frame] for frame in stack if is_managed(frames[frame])]
            samples = weight // interval
            found["samples"] += samples
            found["managed"] += samples if managed else 0
            found["named"] += samples if managed and all(map(is_named, managed)) else 0
            found["nowhere"] += sum("file" not in frames[frame] for frame in stack)
    return found


def shares(results: dict, name: str, key: str) -> list[float]:
    """What the application got done in each round, of what it did in the rounds before and after, in which nobody looked."""
    nothing = results["rounds"][NOTHING]
    before = nothing[LOOKS.index(name)::len(LOOKS)]
    after = nothing[LOOKS.index(name) + 1::len(LOOKS)]
    return [each[key] * 2 / (one[key] + other[key]) for each, one, other in zip(results["rounds"][name], before, after)]


def costs(results: dict, name: str, key: str) -> list[float]:
    """The same as what is missing, in percent: of a round that did more by chance it is less than nothing."""
    return [100 * (1 - share) for share in shares(results, name, key)]


def with_spread(each: list[float]) -> str:
    return f"{statistics.median(each):.1f} ({min(each):.1f} to {max(each):.1f})"


def cost_table(results: dict) -> str:
    lines = ["| | " + " | ".join(f"{title} | costs, % (least to most)" for title in COUNTED.values()) + " |",
             "| --- |" + " ---: |" * 2 * len(COUNTED)]  # fmt: skip
    for name, rounds in results["rounds"].items():
        cells = []
        for key in COUNTED:
            cells.append(f"{statistics.median(each[key] for each in rounds):,.1f}")
            cells.append("" if name == NOTHING else with_spread(costs(results, name, key)))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tool_table(results: dict) -> str:
    looked = {f"{name}, {results['seconds']} s": report.medians(results["rounds"][name]) for name in (PROFILE, TRACE)}
    looked[f"farport counters, {results['seconds']} s"] = results["counters"]
    for name, each in results["conversion"]["tools"].items():
        looked[f"a recording of {results['conversion']['mib']:.0f} MiB by {name}"] = each
    lines = ["| | s | memory, MiB | ... of its own |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {name} | {each['seconds']:.1f} | {each['mib']:.1f} | {each['own_mib']:.1f} |" for name, each in looked.items()]
    return "\n".join(lines)


def all_goals(results: dict) -> list[Goal]:
    own, rival, recorder, whole = (costs(results, name, "per_cpu_second") for name in LOOKS)
    median = statistics.median(own)
    seconds = max(each["seconds"] for each in results["rounds"][PROFILE])
    length = results["seconds"]
    html, stock = (results["conversion"]["tools"][name] for name in ("farport, .html", "dotnet-trace, Speedscope"))
    size = f"{results['conversion']['mib']:.0f} MiB"
    faster = stock["seconds"] / html["seconds"]
    profiling, rest = results["profiling_mib"], results["at_rest_mib"]
    recording = max(each["recorder_mib"] for name in RECORDERS for each in results["rounds"][name])
    counters = results["counters"]
    tool = report.medians(results["rounds"][TRACE])
    found = results["names"]
    named = 100 * found["named"] / max(found["managed"], 1)
    return [
        Goal("`farport profile` costs less than 2% of what the application gets done in a CPU second", with_spread(own), median < 2),
        Goal("... and less than a third of what dotnet-trace's samples cost", with_spread(rival), median < statistics.median(rival) / 3),
        Goal(f"from the command to a flame graph of {length} s it takes less than {length + 3} s", f"{seconds:.1f} s", seconds < length + 3),
        Goal(f"a flame graph of a {size} recording is there 5 × as fast as from `dotnet-trace convert`", f"{faster:.1f} ×", faster >= 5),
        Goal("... in less than 100 MiB", f"{html['mib']:.1f} MiB", html["mib"] < 100),
        Goal("the agent holds less than 40 MiB while it profiles (PSS)", f"{profiling:.1f} MiB", profiling < 40),
        Goal("... and at most 5 MiB at rest, beside an application", f"{rest:.1f} MiB", rest <= 5),
        Goal("`farport counters` takes at most a tenth of the memory of a .NET tool's own (dotnet-trace collect)",
             f"{counters['own_mib']:.1f} of {tool['own_mib']:.1f} MiB", counters["own_mib"] <= tool["own_mib"] / 10),
        Goal("... and with the pages of programs and libraries",
             f"{counters['mib']:.1f} of {tool['mib']:.1f} MiB", counters["mib"] <= tool["mib"] / 10),
        Goal("the recorder costs at most 1% of what the application gets done in a CPU second", with_spread(recorder),
             statistics.median(recorder) <= 1),
        Goal("... and with samples and names 2%", with_spread(whole), statistics.median(whole) <= 2),
        Goal("... and its agent holds less than 16 MiB (PSS)", f"{recording:.1f} MiB", recording < 16),
        Goal("95% of the samples of managed code have names for all of it", f"{named:.1f}% of {found['managed']:,}", named >= 95),
        Goal("... and every frame has at least its module", f"{found['nowhere']} have none", found["nowhere"] == 0),
    ]  # fmt: skip


def tables(results: dict) -> str:
    return "\n\n".join([cost_table(results), tool_table(results), report.goals_table(all_goals(results))])


def document(results: dict, load: float, versions: list[str]) -> str:
    """docs/sight.md: sight.md here, with what was measured put in."""
    return report.filled("sight.md", {
        "machine": report.machine(),
        "load": f"{load:.1f} before",
        "versions": "\n".join(f"- {version}" for version in versions),
        "rounds": str(len(results["rounds"][PROFILE])),
        "seconds": str(results["seconds"]),
        "busy": str(os.cpu_count()),
        "costs": cost_table(results),
        "tools": tool_table(results),
        "goals": report.goals_table(all_goals(results)),
    })  # fmt: skip
