"""Every command block of README.md and docs/ runs, or says why it does not: CONTRIBUTING.md, "Command blocks"."""

import os
import unittest

from harness import documents
from harness.case import Case, main
from harness.stage import Stage

# Some pages alone, for whoever writes them: parts of their names.
ONLY = os.environ.get("FARPORT_TEST_PAGES", "").split()


class Marks(unittest.TestCase):
    def test_every_block_has_a_mark(self):
        self.assertEqual([block.place for blocks in documents.pages().values() for block in blocks if not block.mark], [])


class Documents(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--rate", "200", "--seconds", "3000")
        cls.stage = Stage(cls.lab)
        cls.addClassCleanup(cls.stage.close)
        cls.stage.open()

    def test_every_block_passes_or_says_why_it_is_not_run(self):
        table = []
        for page, blocks in documents.pages().items():
            if not ONLY or any(name in page for name in ONLY):
                self.play(page, [block for block in blocks if block.mark], table)
        for row in table:
            print("  ".join(row))
        self.assertNotEqual(table, [])

    def play(self, page, blocks, table):
        """Plays a page's blocks in their order."""
        with self.subTest(page):
            self.stage.begin_page()
            try:
                self.play_blocks(blocks, table)
            finally:
                self.stage.end_page()

    def play_blocks(self, blocks, table):
        section = None
        for block in blocks:
            if block.section != section:
                self.stage.end_section()
                section = block.section
            reason = block.mark.reason or self.stage.lacks(block)
            if reason:
                table.append((block.place, f"not run: {reason}"))
                continue
            with self.subTest(block.place):
                table.append((block.place, "failed"))
                self.stage.play(block)
                table[-1] = (block.place, "passed")


if __name__ == "__main__":
    main()
