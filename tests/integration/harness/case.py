"""The base of every test case: a lab per class, checks after each test, logs when one fails."""

import signal
import sys
import unittest

from harness import wait
from harness.lab import Lab
from harness.tools import Tools


# Shells start what goes on in the background with SIGINT ignored, which every program that a test starts would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Case(unittest.TestCase):
    """A class of tests shares one lab. Override `prepare` to set it up."""

    lab: Lab
    tools: Tools

    @classmethod
    def prepare(cls):
        """Starts what the tests of the class share."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.addClassCleanup(cls._check_what_is_left)
        cls.tools = Tools(cls.lab)
        try:
            cls.prepare()
        except BaseException:
            print(cls.lab.logs(), file=sys.stderr)
            raise

    @classmethod
    def _check_what_is_left(cls):
        reports = cls.lab.sanitizer_reports()
        if reports:
            raise AssertionError("".join(reports.values()))
        wait.until(lambda: not cls.lab.near.processes(),
                   lambda: f"nothing is left of {cls.lab.near.processes()} on the near host\n{cls.lab.logs()}", 3)

    @classmethod
    def share(cls, thing):
        """Has `thing` stopped, with its checks, when the tests of the class have run."""
        def stop():
            try:
                thing.stop()
            except BaseException:
                print(cls.lab.logs(), file=sys.stderr)
                raise
        cls.addClassCleanup(stop)
        return thing

    def use(self, thing):
        """Has `thing` stopped, with its checks, when the test has run, unless it has ended by then."""
        self.addCleanup(lambda: thing.process.running() and thing.stop())
        return thing

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        first = len(self.lab.started)
        # One program's defect makes one test red, not those after it.
        self._known_reports = self.lab.sanitizer_reports()
        outcome = super().run(result)
        if len(result.failures) + len(result.errors) > before:
            # First, since whoever shows this may cut it.
            print(self.new_reports(), file=sys.stderr)
            shared = [process for process in self.lab.started[:first] if process.running()]
            for process in shared + self.lab.started[first:]:
                print(process.output(), file=sys.stderr)
        return outcome

    def new_reports(self):
        """The sanitizers' reports since this test began."""
        return "".join(self.lab.sanitizer_reports(but=self._known_reports).values())

    def tearDown(self):
        self.assertEqual(self.new_reports(), "")

    def assert_ok(self, finished):
        """That a program ended with success."""
        self.assertEqual(finished.code, 0, finished.described)
        return finished


def main():
    """Runs the tests of the calling file."""
    unittest.main(module="__main__", verbosity=2)
