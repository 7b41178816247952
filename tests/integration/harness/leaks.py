"""Which programs look for leaks at their end. The look takes half of a short command's processor time, so not each of a thousand
`farport ps` has one."""

import os


class Leaks:
    """Has a command look for leaks when it is the first one with its words and options in a lab, and an agent and a mirror each
    time."""

    def __init__(self):
        self._seen = set()

    def are_looked_for(self, arguments):
        """Whether the program of this command line looks for leaks."""
        if not arguments or os.path.basename(arguments[0]) != "farport" or arguments[1:2] in (["serve"], ["connect"]):
            return True
        kind = (*arguments[1:2], *sorted({word.partition("=")[0] for word in arguments if word.startswith("-")}))
        is_first = kind not in self._seen
        self._seen.add(kind)
        return is_first
