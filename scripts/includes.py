"""Looks for modules (a header and its source) that include each other in a circle, in which none could be read first."""

import collections
import graphlib
import pathlib
import re
import subprocess
import sys

SOURCES = ("auth/", "base/", "cli/", "config/", "confinement/", "events/", "heap/", "ipc/", "nettrace/", "profile/", "router/", "timeline/", "transport/")


def module_of(name):
    return str(pathlib.Path(name).with_suffix(""))


def circle(modules):
    """Modules that include each other, the first one last once more; nothing where there are none."""
    graph = {module: {module_of(header) for header in headers} for module, headers in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.hpp"],
                            check=True, capture_output=True, text=True).stdout.split()
    modules = collections.defaultdict(set)
    for name in listed:
        path = pathlib.Path(name)
        if name.startswith(SOURCES) and path.exists():
            module = module_of(name)
            included = re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
            modules[module] |= {header for header in included if not header.startswith(module + ".")}
    round_about = circle(modules)
    if round_about:
        print("a circle of includes: " + " -> ".join(reversed(round_about)))
    return 1 if round_about else 0


if __name__ == "__main__":
    sys.exit(main())
