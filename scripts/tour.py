"""Follows the tours of docs/developers/architecture.md. A step of a tour names a source, and functions: one at least must be in that
source, the sources of the tour up to there must call it, and the others must be in one of the tour's. Fails where that is
not so, or where a tour takes more sources than a reader should have to open."""

import pathlib
import re
import sys

PAGE = pathlib.Path("docs/developers/architecture.md")
MOST_SOURCES = {"A tour: one ProcessInfo command": 15, "The same at the mirror": 10}


def steps_of(title):
    """The numbered steps below a heading: of each, what stands in backquotes."""
    below = re.split(rf"^#+ {re.escape(title)}$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if len(below) != 2:
        return []
    section = re.split(r"^#", below[1], flags=re.MULTILINE)[0]
    return [re.findall(r"`([^`]+)`", step) for step in re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]]


def functions_in(words):
    """Names of functions among what stands in backquotes, without their class."""
    names = [word.removesuffix("()").split("::")[-1] for word in words if re.fullmatch(r"[\w:]+(\(\))?", word)]
    return [name for name in names if re.fullmatch(r"[a-z]\w*", name)]


def text_of(sources):
    """What stands in sources and in the headers beside them, and in those that a step names beside its own."""
    paths = [path for source in sources for path in (pathlib.Path(source), pathlib.Path(source).with_suffix(".hpp"))]
    return "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def mistakes_in(steps):
    """Where the steps aren't true."""
    whole = text_of(source for source, *_ in steps)
    for number, (source, *words) in enumerate(steps, start=1):
        if not pathlib.Path(source).exists():
            yield f"step {number}: there is no {source}"
            continue
        beside = [str(pathlib.Path(source).parent / word) for word in words if word.endswith(".cpp")]
        here, so_far = text_of([source]), text_of(step[0] for step in steps[:number])
        own = [name for name in functions_in(words) if re.search(rf"\b{name}\(", here)]
        if not own:
            yield f"step {number}: {source} has none of its functions"
        if number > 1 and not any(len(re.findall(rf"\b{name}\b", so_far)) > 1 for name in own):
            yield f"step {number}: nothing up to there calls {' or '.join(own)}"
        for name in functions_in(words):
            if not re.search(rf"\b{name}\(", whole + text_of(beside)):
                yield f"step {number}: {name}() is not there"


def main():
    status = 0
    for title, most in MOST_SOURCES.items():
        steps = steps_of(title)
        sources = {source for source, *_ in steps}
        print(f"{title}: {len(sources)} sources")
        mistakes = list(mistakes_in(steps))
        if not sources or len(sources) > most:
            mistakes.append(f"it takes {len(sources)} sources, {most} at most")
        for mistake in mistakes:
            print(f"{PAGE}, {title}: {mistake}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
