"""Draws what growth.py has measured, with gnuplot."""

import subprocess
from pathlib import Path

PANELS = (("cpu_ms_per_1000_commands", "CPU ms per 1,000 commands"), ("cpu_s_per_gib", "CPU s per GiB"),
          ("pss_mib", "PSS, MiB"))  # fmt: skip


def draw(results: dict[str, dict[str, dict[str, float]]], target: Path) -> None:
    """The agent's costs against the numbers of connections, sessions and runtimes, as SVG."""
    script = [
        "set terminal svg size 1080,360 font 'sans-serif,12' background 'white'",
        f"set output '{target}'",
        f"set multiplot layout 1,{len(PANELS)}",
        "set logscale x 10",
        "set format x '%.0f'",
        "set yrange [0:*]",
        "set grid ytics",
        "set key bottom left",
        "set xlabel 'open connections, sessions or runtimes'",
    ]
    for what, counts in results.items():
        rows = [" ".join([count, *(str(values[key]) for key, _ in PANELS)]) for count, values in counts.items()]
        script += [f"${what} << END", *rows, "END"]
    for at, (_, title) in enumerate(PANELS):
        lines = (f"${what} using 1:{at + 2} with linespoints title '{what}'" for what in results)
        script += [f"set title '{title}'", "plot " + ", ".join(lines)]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)
