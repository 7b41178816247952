"""Programs that were compiled ahead of time: what farport knows of them, and that it says what they can't do."""

import json
import os

from harness import needs, wait
from harness.case import Case, main
from harness.hotspot import Hotspot

FRAMEWORKS = ("net8.0", "net9.0", "net10.0")
REPORTS_ITS_HEAP = "net10.0"


class Native(Case):
    @classmethod
    def prepare(cls):
        cls.directory = cls.lab.new_directory(cls.lab.far, "native")
        cls.agent = cls.share(cls.lab.agent(search=[cls.directory]))

    def native(self, framework, **options):
        return self.use(Hotspot(self.lab.far, directory=self.directory, native=framework, **options))

    def each(self, **options):
        """A program of each framework, in turn, and its remote pid."""
        for framework in FRAMEWORKS:
            program = self.native(framework, **options)
            wait.until(lambda program=program: self.listed(program), "it is listed")
            yield framework, program, f"{self.agent.remote}/{program.pid_inside}"
            program.stop()

    def farport(self, command, *arguments, target=None):
        return self.lab.near.run(needs.farport(), command, target or self.agent.remote, *self.lab.tools_pair.flags(), *arguments)

    def listed(self, program):
        """How it is listed."""
        return next((each for each in self.agent.runtimes() if each["pid"] == program.pid_inside), None)

    def test_they_are_called_native_and_others_are_not(self):
        other = self.lab.orders(directory=self.directory)
        self.addCleanup(other.kill)
        self.agent.wait_for(other)
        for framework, program, _ in self.each():
            runtimes = {each["name"]: each.get("native") for each in self.agent.runtimes()}
            self.assertEqual(runtimes, {"orders": None, "hotspot": True})
            self.assertIn(f"{self.listed(program)['version']} native", self.farport("ps").stdout)
            self.assertTrue(self.listed(program)["version"].startswith(framework.removeprefix("net")))

    def test_one_that_was_resumed_long_ago_runs_for_an_agent_that_comes_later(self):
        for _, program, target in self.each(environment={"DOTNET_DefaultDiagnosticPortSuspend": "1"}, suspended=True):
            self.assertEqual(self.listed(program)["state"], "suspended")
            wait.stays(lambda program=program: self.listed(program)["state"] == "suspended", "it is suspended", 2)
            # Whoever records it has it go on.
            file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
            done = self.farport("trace", "--duration", "1", "-o", file, target=target)
            self.assertIn("goes on now", done.stderr)
            program.process.wait_for_output("busy")
            wait.until(lambda program=program: self.listed(program)["state"] == "running", "it is listed as running")
            later = self.lab.agent(search=[self.directory], port=9100)
            try:
                pid = program.pid_inside
                states = [each["state"] for each in wait.until(later.runtimes, "it is listed") if each["pid"] == pid]
                self.assertEqual(states, ["running"])
            finally:
                later.stop()

    def test_its_stacks_have_the_names_of_its_symbols(self):
        for _, _, target in self.each(rest=0):
            done = self.farport("stacks", target=target)
            self.assertEqual((done.code, done.stderr), (0, ""))
            self.assertIn("hotspot!hotspot_Hotspot_Work__Managed", done.stdout)

    def test_where_it_waits_is_profiled_by_the_names_of_its_symbols(self):
        for _, _, target in self.each():
            refused = self.farport("profile", "--wall", "--duration", "1", target=target)
            self.assertEqual((refused.code, refused.stdout), (1, ""))
            self.assertIn("names no methods; give --event wall instead", refused.stderr)
            file = os.path.join(self.lab.new_directory(self.lab.near, "profile"), "x.folded")
            self.assert_ok(self.farport("profile", "--event", "wall", "--duration", "2", "-o", file, target=target))
            with open(file, encoding="utf-8") as opened:
                self.assertRegex(opened.read(), r";hotspot_Program___Main_\w*;.*Thread__Sleep;.*\[waiting\] ")

    def test_its_heap_is_reported_or_it_is_said_at_once_that_it_is_not(self):
        for framework, _, target in self.each():
            done = self.farport("gcdump", target=target)
            if framework == REPORTS_ITS_HEAP:
                self.assertEqual(done.code, 0, done.described)
                self.assertIn("types have no names", done.stderr)
            else:
                self.assertEqual((done.code, done.stdout), (1, ""))
                self.assertIn("it is compiled ahead of time (NativeAOT), and reports its heap from .NET 10 on", done.stderr)

    def test_its_exceptions_have_no_stacks_and_that_is_said(self):
        for _, _, target in self.each():
            done = self.farport("exceptions", "--duration", "1", target=target)
            self.assertEqual(done.code, 0, done.described)
            self.assertIn("its runtime tells no stacks of exceptions", done.stderr)

    def test_no_dump_is_asked_for_and_doctor_says_the_same(self):
        for _, program, target in self.each():
            done = self.farport("dump", "--type", "full", target=target)
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("such runtimes write no dump when they are told to", done.stderr)
            self.assertIsNotNone(self.listed(program))
            doctor = self.farport("doctor", "--format", "json")
            said = [each for each in json.loads(doctor.stdout) if "can't be dumped" in each["text"]]
            self.assertEqual([each["level"] for each in said], ["warning"], doctor.described)


if __name__ == "__main__":
    main()
