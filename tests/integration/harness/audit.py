"""What an agent has written into its audit file. A line may come a moment after the answer that it tells of."""

import json
import pathlib

from . import wait


class Audit:
    def __init__(self, path):
        self.path = path

    def entries(self, **fields):
        """The entries with these fields, the oldest first."""
        lines = pathlib.Path(self.path).read_text(encoding="utf-8").splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith("\n")]
        return [entry for entry in entries if fields.items() <= entry.items()]

    def wait_for(self, count=1, **fields):
        """The last entry with these fields, as soon as there are `count`."""
        wait.until(lambda: len(self.entries(**fields)) >= count,
                   lambda: f"the audit has {count} of {fields}: {self.entries()}")
        return self.entries(**fields)[-1]

    def wait_until_last(self, is_it, **fields):
        """Waits until `is_it` holds of the last entry with these fields."""
        wait.until(lambda: any(map(is_it, self.entries(**fields)[-1:])),
                   lambda: f"the last of {fields} in the audit is another one: {self.entries()}")
