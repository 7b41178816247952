"""Every test that docs/developers/promises.md names is there."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`([\w/]+\.(?:py|cpp)): ([^`]+)`")


class Promises(unittest.TestCase):
    maxDiff = None

    def test_every_test_that_is_named_exists(self):
        named = NAMED.findall((ROOT / "docs/developers/promises.md").read_text())
        self.assertGreater(len(named), 100)
        self.assertEqual([f"{file}: {name}" for file, name in named if not self.exists(file, name)], [])

    def exists(self, file, name):
        if file.endswith(".py"):
            return f"    def test_{name}(self" in self.content("integration", file)
        return f'"{name}"' in self.content("unit", file)

    def content(self, directory, file):
        path = ROOT / "tests" / directory / file
        return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    unittest.main(verbosity=2)
