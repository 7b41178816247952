"""The command blocks of the documentation, and what is said of each: CONTRIBUTING.md, "Command blocks", has the marks."""

import pathlib
import re
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Pictures, and what programs print. All else a reader types, or puts into a file.
SHOWN = ("", "json", "text")
_FENCE = re.compile(r"^ *```(\w*)$")
_HEADING = re.compile(r"^#+ ")
_COMMENT = re.compile(r"^ *<!-- (.*) -->$")
_RUNS = re.compile(r"runs(?: on (?P<host>[\w.-]+))?(?P<agent>, with an agent)?(?:, until stopped: (?P<words>.+))?")


@dataclass
class Mark:
    """What is to become of a block. `reason`: why it is not run. `words`: what a block shows that does not end."""
    host: str = "laptop"
    agent: bool = False
    words: str = ""
    reason: str = ""


@dataclass
class Block:
    """One fenced block. `section` is the line of the heading above it. `mark` is None where there is none."""
    page: str
    line: int
    section: int
    language: str
    text: str
    mark: Mark | None

    @property
    def place(self):
        """Where a person finds it."""
        return f"{self.page}:{self.line}"


def pages():
    """The pages with command blocks."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {page: found for page, found in ((str(file.relative_to(ROOT)), blocks(file)) for file in files) if found}


def blocks(file):
    """The command blocks of a page."""
    found, section, before, fence = [], 0, "", None
    page = str(file.relative_to(ROOT))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        opening = _FENCE.match(line)
        if fence is None and opening:
            fence, lines = Block(page, number, section, opening.group(1), "", parse(before)), []
        elif fence is not None and opening:
            fence.text = "\n".join(lines)
            found.append(fence)
            fence = None
        elif fence is not None:
            lines.append(line)
        elif _HEADING.match(line):
            section = number
        before = line
    return [block for block in found if is_command(block)]


def is_command(block):
    """Whether a reader does something with it, or it has a mark all the same."""
    return block.language not in SHOWN or block.mark is not None or block.text.startswith("$ ")


def parse(line):
    """The mark in a line, if it is one."""
    comment = _COMMENT.match(line)
    if not comment:
        return None
    if comment.group(1).startswith("not run: "):
        return Mark(reason=comment.group(1).removeprefix("not run: "))
    found = _RUNS.fullmatch(comment.group(1))
    return Mark(found["host"] or "laptop", bool(found["agent"]), found["words"] or "") if found else None


def commands(block):
    """The commands of a block with a terminal's picture, each with the lines that it shows."""
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def shows(line, output):
    """Whether a program has printed this line. Any number of spaces are alike, and … stands for anything."""
    words = (re.escape(word).replace("…", ".*") for word in line.split())
    return re.search(r"\s+".join(words), output) is not None


def lines_of(block):
    """The commands of a block, each by itself: a line that ends in a backslash goes on in the next one."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
