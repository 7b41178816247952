"""farport profile: where a remote application's time goes, compared with what the application is known to do."""

import json
import os
import threading
import time

from harness import needs
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.looking import Looking
from harness.network import Network
from harness.watched import Watched


class Profile(Looking, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.share(Watched(cls.lab))
        cls.agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.addCleanup(self.network.mend)

    def keep_busy(self):
        """Has the application compute and sleep by turns; returns what ends it."""
        stop = threading.Event()

        def go_on():
            while not stop.is_set():
                self.application.get("/burn")
                self.application.get("/sleep")
        caller = threading.Thread(target=go_on)
        caller.start()

        def end():
            stop.set()
            caller.join()
        self.addCleanup(end)

    def samples_in(self, folded, method):
        return sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if f";Watched.Work.{method}(" in line)

    def test_a_profile_of_the_processor_shows_the_route_that_computes(self):
        self.keep_busy()
        folded = self.look_whole("profile", "--duration", "6s").stdout()
        burnt, slept = self.samples_in(folded, "Burn"), self.samples_in(folded, "Sleep")
        self.assertGreaterEqual(burnt, 20 * max(slept, 1), folded)

    def test_nearly_all_samples_of_the_processor_have_names(self):
        self.keep_busy()
        file = os.path.join(self.lab.new_directory(self.lab.near, "profile"), "x.speedscope.json")
        self.look_whole("profile", "--duration", "6s", "-o", file)
        samples = self.speedscope_samples(file)
        burnt, slept = (sum(any(f"Watched.Work.{method}(" in frame["name"] for frame in stack) for stack in samples)
                        for method in ("Burn", "Sleep"))
        self.assertGreaterEqual(burnt, 20 * max(slept, 1))
        nowhere = [frame for stack in samples for frame in stack if "file" not in frame]
        self.assertEqual(nowhere, [])
        managed = [frames for stack in samples if (frames := [frame for frame in stack if self.is_managed(frame)])]
        named = [frames for frames in managed if all(f"{frame['file']}+0x" not in frame["name"] for frame in frames)]
        self.assertGreaterEqual(len(named), 0.95 * len(managed), managed)

    @staticmethod
    def is_managed(frame):
        """Whether it is .NET's code: of an assembly, or in the memory into which that is compiled."""
        return frame["file"].endswith(".dll") or frame["file"] == "memfd:doublemapper"

    @staticmethod
    def speedscope_samples(path):
        """The frames of each run of samples that are alike, as often as there are samples in it."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        frames = content["shared"]["frames"]
        interval = min(weight for profile in content["profiles"] for weight in profile["weights"])
        return [[frames[frame] for frame in stack] for profile in content["profiles"]
                for stack, weight in zip(profile["samples"], profile["weights"], strict=True) for _ in range(weight // interval)]

    def test_a_profile_of_the_wall_shows_both_routes_alike(self):
        self.keep_busy()
        folded = self.look_whole("profile", "--wall", "--duration", "5s").stdout()
        burnt, slept = self.samples_in(folded, "Burn"), self.samples_in(folded, "Sleep")
        self.assertGreater(burnt, 100, folded)
        # On a busy machine sleepers wake up late. A profile of the processor would have next to nothing of them.
        self.assertLess(burnt, 4 * slept, folded)
        self.assertLess(slept, 4 * burnt, folded)
        asleep = "\n".join(line for line in folded.splitlines() if "Watched.Work.Sleep(" in line and "[waiting]" in line)
        self.assertGreater(self.samples_in(asleep, "Sleep"), 0.9 * slept, folded)
        busy = "\n".join(line for line in folded.splitlines() if "Watched.Work.Burn(" in line and "[waiting]" not in line)
        self.assertGreater(self.samples_in(busy, "Burn"), 0.9 * burnt, folded)

    def test_a_profile_is_whole_though_the_link_breaks(self):
        self.keep_busy()
        process = self.look("profile", "--wall", "--duration", "5s", "--top", *QUICK_PINGS)
        time.sleep(1)
        self.cut()
        self.assertEqual(process.wait(), 0, process.output())
        self.assertIn("Watched.Work.Burn", process.stdout())
        self.assertNotIn("lost", process.stdout())

    def test_the_runtimes_own_samples_are_kept_as_they_come(self):
        self.keep_busy()
        file = os.path.join(self.lab.new_directory(self.lab.near, "samples"), "x.nettrace")
        self.assertEqual(self.look_whole("profile", "--wall", "--duration", "3s", "-o", file).stdout().strip(), file)
        self.assertTrue(any("Watched.Work.Burn" in frame for frame in self.tools.frames(file)))

    def test_a_recording_is_no_file_for_the_kernels_samples_or_a_table(self):
        refused = self.look_whole("profile", "-o", "x.nettrace", code=2)
        self.assertIn("give --wall, too", refused.output())
        refused = self.look_whole("profile", "--wall", "--top", "-o", "x.nettrace", code=2)
        self.assertIn("give it to farport convert", refused.output())

    def test_a_recording_is_converted_as_dotnet_trace_does(self):
        self.keep_busy()
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        self.look_whole("trace", "-o", file, "--duration", "3s")
        own = self.lab.near.run(needs.farport(), "convert", file)
        self.assert_ok(own)
        names = {frame.rpartition("_[")[0].split("(")[0] for line in own.stdout.splitlines() for frame in line.rpartition(" ")[0].split(";")}
        stock = {frame.split("!")[-1].split("(")[0] for frame in self.tools.frames(file)}
        own_code = {name for name in stock if name.startswith("Watched.")}
        self.assertTrue(own_code)
        self.assertLessEqual(own_code, names)
        known = {name for name in stock if name.startswith("System.Threading.")}
        self.assertLessEqual(known, names)


if __name__ == "__main__":
    main()
