"""Counts the project's own headers that each module (a header and its source) includes. More than ten are too many:
whoever reads the module would have to know them all. The programs themselves, which put the parts together, may have
more."""

import collections
import pathlib
import re
import subprocess
import sys

MOST = 10
# The agent puts its parts together, as each command in cli/ does.
PROGRAMS = {"router/agent/agent"}
ROOMS = ("auth/", "base/", "config/", "confinement/", "ipc/", "router/", "transport/")


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cpp", "*.hpp"],
                            check=True, capture_output=True, text=True).stdout.split()
    modules = collections.defaultdict(set)
    for name in listed:
        path = pathlib.Path(name)
        if name.startswith(ROOMS) and path.exists():
            module = str(path.with_suffix(""))
            included = re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
            modules[module] |= {header for header in included if not header.startswith(module + ".")}
    wrong = {module: headers for module, headers in modules.items() if len(headers) > MOST and module not in PROGRAMS}
    for module, headers in sorted(wrong.items()):
        print(f"{module} includes {len(headers)} headers of the project, {MOST} at most: {' '.join(sorted(headers))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
