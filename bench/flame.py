#!/usr/bin/env python3
"""Draws a flame graph of an agent under load: records it with perf, and writes an SVG."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, ROW, LETTER = 1200, 16, 6.6
# What is narrower is left out.
NARROWEST = 0.7
FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<symbol>.*?)(\+0x[0-9a-f]+)? \((?P<file>.*)\)$")
COLOURS = (("kernel", "#e8916d"), ("libcrypto", "#8fb8e8"), ("libssl", "#8fb8e8"), ("nghttp2", "#b79fe0"),
           ("libc.so", "#e6c86a"), ("farport", "#8cc98c"))  # fmt: skip


@dataclass
class Frame:
    """A function, and those that it called."""

    name: str
    colour: str
    samples: int = 0
    calls: dict[str, "Frame"] = field(default_factory=dict)

    def add(self, stack: list[tuple[str, str]]) -> None:
        self.samples += 1
        if stack:
            name, colour = stack[0]
            self.calls.setdefault(name, Frame(name, colour)).add(stack[1:])

    def depth(self) -> int:
        return 1 + max((each.depth() for each in self.calls.values()), default=0)


def colour_of(file: str) -> str:
    return next((colour for part, colour in COLOURS if part in file), "#cccccc")


def short(symbol: str) -> str:
    """Without namespaces and arguments: farport::router::relay(...) is relay."""
    symbol = re.sub(r"\(.*", "", re.sub(r"\[clone.*", "", symbol).replace("(anonymous namespace)", ""))
    while "<" in symbol and (smaller := re.sub(r"<[^<>]*>", "", symbol)) != symbol:
        symbol = smaller
    return "::".join(symbol.split("::")[-2:]).strip()


def fold(lines: Iterable[str]) -> Frame:
    """Of what `perf script` prints: a line for each sample, and its stack below it, the innermost first."""
    root, stack = Frame("all", "#dddddd"), []
    for line in lines:
        if match := FRAME.match(line):
            stack.append((short(match["symbol"]), colour_of(match["file"])))
        elif not line.strip() and stack:
            root.add(stack[::-1])
            stack = []
    return root


def draw(root: Frame, title: str) -> str:
    height = (root.depth() + 2) * ROW
    shapes = [f'<text x="4" y="{ROW - 4}">{escape(title)}</text>']

    def place(frame: Frame, left: float, level: int) -> None:
        width = frame.samples / root.samples * WIDTH
        if width < NARROWEST:
            return
        top = height - (level + 1) * ROW
        share = f"{escape(frame.name)}: {100 * frame.samples / root.samples:.1f}%"
        shapes.append(f'<g><title>{share}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 1}" '
                      f'fill="{frame.colour}"/>')  # fmt: skip
        letters = int(width / LETTER) - 1
        if letters > 2:
            shapes.append(f'<text x="{left + 3:.1f}" y="{top + ROW - 4}">{escape(frame.name[:letters])}</text>')
        shapes.append("</g>")
        for each in sorted(frame.calls.values(), key=lambda called: called.name):
            place(each, left, level + 1)
            left += each.samples / root.samples * WIDTH

    place(root, 0, 0)
    style = '<style>text { font: 11px monospace; } rect { stroke: white; stroke-width: 0.5; }</style>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">', style,
                      '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>\n"])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pid", type=int, help="the agent's process; built with frame pointers")
    parser.add_argument("target", type=Path, help="the SVG")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    record = options.target.with_suffix(".perf")
    subprocess.run(["perf", "record", "--quiet", "--freq", "1999", "--call-graph", "fp", "--pid", str(options.pid),
                    "--output", record, "--", "sleep", str(options.seconds)], check=True)  # fmt: skip
    script = subprocess.run(["perf", "script", "--input", record], capture_output=True, text=True, check=True)
    record.unlink()
    root = fold([*script.stdout.splitlines(), ""])
    if root.samples == 0:
        print("flame: the process did nothing", file=sys.stderr)
        return 1
    options.target.write_text(draw(root, options.title), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
