"""A profile's files are what the programs for which they are made take them for."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from harness import needs, wait
from harness.browser import Browser

# Of threads "main" and "pool", a hundred samples.
SHOP = """
main;libc.so.6!start;Orders.dll!Orders.Program.Main()_[j];Orders.dll!Orders.Pricing.Quote(int32)_[j] 20
main;libc.so.6!start;Orders.dll!Orders.Program.Main()_[j];Orders.dll!Orders.Pricing.Quote(int32)_[j];libc.so.6!memcpy 20
main;libc.so.6!start;Orders.dll!Orders.Program.Main()_[j];libcoreclr.so!JIT_New_[r] 10
pool;libc.so.6!start;Orders.dll!Orders.Worker.Run()_[j];Orders.dll!Orders.Pricing.Quote(int32)_[j] 35
pool;libc.so.6!start;Orders.dll!Orders.Worker.Run()_[j];libc.so.6!recv;[kernel]!tcp_recvmsg_[k] 15
"""
WAITING = SHOP + """\
pool;libc.so.6!start;Orders.dll!Orders.Worker.Run()_[j];libc.so.6!poll;[waiting] 100
"""
HOSTILE = """</script><script>window.broken=1</script>"'&<--\x1b[31m\u009b]]>\\\u202e"""


class Outputs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="fpt-profile-")
        self.addCleanup(shutil.rmtree, self.directory)

    def render(self, name, stacks=SHOP, *flags):
        """The path of a file that is made of folded stacks."""
        path = os.path.join(self.directory, name)
        done = subprocess.run([needs.profile_render(), *flags, path], input=stacks.strip().encode(), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return path


class FlameGraph(Outputs):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, *arguments, fragment=""):
        path = self.render("profile.html", *arguments)
        self.browser.open(path, fragment)
        return path

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def colours(self):
        """How many there are in the drawing."""
        return self.browser.eval("""(() => {
            const canvas = document.getElementById("graph");
            const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(pixels).size;
        })()""")

    def middle_of_row(self, row):
        """Of the drawing, the row counted from the root's, which is 0."""
        box = self.browser.eval("""(() => {
            const at = document.getElementById("graph").getBoundingClientRect();
            return [at.left + at.width / 2, at.bottom];
        })()""")
        return box[0], box[1] - 19 * row - 9

    def tip(self, row):
        """What is said of the frame in the middle of a row."""
        self.browser.move(*self.middle_of_row(row))
        wait.until(lambda: not self.browser.eval("document.getElementById('tip').hidden"), "the tip shows")
        return self.browser.text("tip")

    def matched(self):
        return self.browser.text("matched")

    def test_it_draws_and_fetches_nothing(self):
        path = self.open()
        self.assertEqual(self.browser.text("title"), "Orders")
        self.assertIn("pid 4711", self.browser.text("summary"))
        self.assertIn("100 samples", self.browser.text("summary"))
        self.assertIn("1.0 s", self.browser.text("summary"))
        self.assertGreater(self.colours(), 6)
        self.assertEqual(self.browser.fetched(), [f"file://{path}"])

    def test_the_mouse_says_what_a_frame_took(self):
        self.open()
        self.assertIn("start", self.tip(1))
        self.assertIn("native · libc.so.6", self.tip(1))
        self.assertIn("100 samples · 100.0 % of all · 1.0 s", self.tip(1))

    def test_search_finds_frames_and_says_their_share(self):
        self.open()
        self.browser.press("/")
        self.browser.type(r"pricing\.q")
        self.assertEqual(self.matched(), "75.0 % of samples, 1 frame")
        self.assertIn("search=pricing", self.browser.eval("location.hash"))
        self.browser.press("Escape")

    def test_what_is_no_expression_is_searched_for_as_it_is(self):
        self.open(fragment="#search=Quote(")
        self.assertEqual(self.matched(), "75.0 % of samples, 1 frame")

    def test_the_address_says_what_is_shown(self):
        self.open(fragment="#search=quote|tcp&thread=1&root=above")
        self.assertEqual(self.matched(), "100.0 % of samples, 2 frames")
        self.assertIn("50 samples", self.browser.text("status"))

    def test_a_click_zooms_and_escape_resets(self):
        self.open()
        frame = self.tip(3)
        self.browser.click(*self.middle_of_row(3))
        self.assertIn("zoom=", self.browser.eval("location.hash"))
        zoomed = self.browser.text("status")
        self.assertTrue(frame.startswith(zoomed.split(" — ", maxsplit=1)[0]), zoomed)
        # It takes the whole width now, and so do those that called it.
        self.browser.move(5, self.middle_of_row(3)[1])
        self.assertTrue(self.browser.text("tip").startswith(zoomed.split(" — ", maxsplit=1)[0]))
        self.browser.press("Escape")
        self.assertNotIn("zoom=", self.browser.eval("location.hash"))
        self.assertIn("100 samples", self.browser.text("status"))

    def test_the_keyboard_does_as_well(self):
        self.open()
        self.browser.eval("document.getElementById('graph').focus()")
        for key in ("ArrowUp", "ArrowUp", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            self.browser.press(key)
        self.assertIn("Orders.Program.Main", self.browser.text("status"))
        self.browser.press("Enter")
        self.assertIn("zoom=", self.browser.eval("location.hash"))
        self.browser.press("i")
        self.assertIn("root=above", self.browser.eval("location.hash"))

    def choose(self, control, value):
        self.browser.eval(f"""(() => {{
            const control = document.getElementById("{control}");
            control.value = "{value}";
            control.dispatchEvent(new Event("change"));
        }})()""")

    def test_threads_are_shown_by_themselves(self):
        self.open()
        choices = self.browser.eval("Array.from(document.getElementById('thread').options, each => each.textContent)")
        self.assertEqual(choices, ["all, merged", "main (4711): 50", "pool (4712): 50"])
        self.choose("thread", "0")
        self.assertIn("50 samples", self.tip(1))
        self.assertIn("Orders.Program.Main", self.tip(2))

    def test_what_waited_is_told_apart(self):
        self.open(WAITING, "--wall")
        self.assertIn("200 samples", self.browser.text("status"))
        self.assertIn("50.0 % of it waited", self.tip(1))
        self.choose("state", "running")
        self.assertIn("100 samples", self.tip(1))
        self.choose("state", "waiting")
        self.assertIn("poll", self.tip(3))
        self.assertIn("100.0 % of it waited", self.tip(3))

    def test_no_name_is_obeyed(self):
        self.open(f"main;start;{HOSTILE} 10")
        self.assertIsNone(self.browser.eval("window.broken"))
        self.assertEqual(self.browser.eval("document.scripts.length"), 2)
        self.assertIn("</script><script>window.broken=1</script>", self.tip(2))
        self.assertIn(r"\x1b[31m", self.tip(2))

    def test_nothing_runs_that_gets_into_it(self):
        path = self.render("profile.html")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.replace("<header>", "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'><header>"))
        self.browser.open(path)
        self.assertIsNone(self.browser.eval("window.broken"))
        self.assertIn("Content Security Policy", str(self.browser.complaints()))
        self.browser.events.clear()

    def test_a_hundred_thousand_calls_deep_or_wide(self):
        self.open("main;" + ";".join(f"f{at % 7}" for at in range(100_000)) + " 10")
        self.assertIn("f0", self.tip(1))
        self.browser.eval("document.getElementById('stage').scrollTop = 0")
        wait.until(lambda: "f4" in self.tip(0), "the innermost frames show")
        self.open("\n".join(f"main;start;caller{at % 300};callee{at} 1" for at in range(100_000)), fragment="#search=callee9")
        self.assertEqual(self.matched(), "11.1 % of samples, 11,111 frames")

    def test_no_samples(self):
        self.open("")
        self.assertIn("0 samples", self.browser.text("status"))


class Pprof(Outputs):
    """What Go's own pprof says of it."""

    def pprof(self, *arguments):
        environment = os.environ | {"HOME": self.directory, "PPROF_TMPDIR": self.directory}
        done = subprocess.run([needs.program("go"), "tool", "pprof", *arguments], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_it_finds_the_times_of_frames(self):
        top = self.pprof("-top", self.render("profile.pb.gz"))
        self.assertIn("File: Orders\n", top)
        self.assertIn("Type: cpu\n", top)
        self.assertIn("Total samples = 1000ms", top)
        rows = {row.split()[-1]: row.split()[:-1] for row in top.splitlines()}
        self.assertEqual(rows["Orders.Pricing.Quote(int32)"], ["550ms", "55.00%", "55.00%", "750ms", "75.00%"])
        self.assertEqual(rows["memcpy"][0], "200ms")
        self.assertEqual(rows["start"][3], "1000ms")

    def test_it_finds_samples_and_labels(self):
        raw = self.pprof("-raw", self.render("profile.pb.gz", WAITING, "--wall"))
        self.assertIn("samples/count wall/nanoseconds[dflt]", raw)
        self.assertIn("state:[waiting]", raw)
        self.assertIn("thread:[pool]", raw)
        self.assertIn("thread_id:[4712]", raw)
        self.assertIn("Period: 10000000\n", raw)

    def test_frames_without_a_name_have_an_address(self):
        raw = self.pprof("-raw", self.render("profile.pb.gz", "main;libc.so.6!start;libcoreclr.so! 5"))
        self.assertRegex(raw, r"0x[0-9a-f]{4,} M=3")
        self.assertIn("libcoreclr.so", raw)

    def test_no_name_breaks_it(self):
        self.assertIn("window.broken", self.pprof("-raw", self.render("profile.pb.gz", f"{HOSTILE};start;{HOSTILE} 10")))


class PerfScript(Outputs):
    """What PerfView's reader sees in it: its library's LinuxPerfScriptStackSource."""

    def samples(self, path):
        environment = os.environ | {"DOTNET_ROOT": needs.dotnet_root(), "DOTNET_EnableDiagnostics": "0"}
        done = subprocess.run([needs.driver(), "perf-script", path], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split(" ", 3) for line in done.stdout.splitlines()]

    def test_it_sees_each_sample_and_what_it_took(self):
        samples = self.samples(self.render("profile.data.txt", WAITING, "--wall"))
        times = collections.Counter()
        for _, _, metric, stack in samples:
            times[stack.partition(";Thread ")[2]] += float(metric)
        start = "libc.so.6!start"
        main, run = f"(4711);{start};Orders.dll!Orders.Program.Main()", f"(4712);{start};Orders.dll!Orders.Worker.Run()"
        quote = "Orders.dll!Orders.Pricing.Quote(int32)"
        expected = {f"{main};{quote}": 200, f"{main};{quote};libc.so.6!memcpy": 200, f"{main};libcoreclr.so!JIT_New": 100,
                    f"{run};{quote}": 350, f"{run};libc.so.6!recv;kernel.kallsyms!tcp_recvmsg": 150,
                    f"{run};libc.so.6!poll;waiting!waiting": 1000}
        self.assertEqual({stack: round(time) for stack, time in times.items()}, expected)
        self.assertTrue(all(sample[3].startswith("Process ") and "(4711);" in sample[3] for sample in samples))

    def test_no_sample_takes_the_time_in_which_there_was_none(self):
        stacks = "one;start;a 10\nother;start;b 20\none;start;a 10"
        times = collections.Counter()
        for _, _, metric, stack in self.samples(self.render("profile.data.txt", stacks)):
            times[stack.rpartition("!")[2].rpartition(";")[2]] += float(metric)
        self.assertEqual({name: round(time) for name, time in times.items()}, {"a": 200, "b": 200, "Thread (0)": 200})

    def test_no_name_makes_another_sample(self):
        stacks = f"1 2/3 4.5: 6 x: {HOSTILE};start;{HOSTILE}!(){HOSTILE} 3\nmain;start;[]!() 2\nmain;start;()![] 2"
        samples = self.samples(self.render("profile.data.txt", stacks))
        self.assertEqual(len(samples), 7)
        self.assertTrue(all("Thread (471" in sample[3] for sample in samples))


class Speedscope(Outputs):
    def test_its_samples_are_of_its_frames(self):
        with open(self.render("profile.speedscope.json", WAITING, "--wall"), encoding="utf-8") as file:
            content = json.load(file)
        frames = content["shared"]["frames"]
        self.assertEqual([profile["name"] for profile in content["profiles"]], ["main (4711)", "pool (4712)"])
        for profile, total in zip(content["profiles"], (500_000_000, 1_500_000_000), strict=True):
            self.assertEqual((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "nanoseconds", 0))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(sum(profile["weights"]), total)
            self.assertEqual(profile["endValue"], total)
            self.assertTrue(all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample))
        last = [frames[frame]["name"] for frame in content["profiles"][1]["samples"][-1]]
        self.assertEqual(last, ["start", "Orders.Worker.Run()", "poll", "[waiting]"])


class Picture(Outputs):
    def titles(self, path):
        return [title.text for title in xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]

    def test_it_is_xml_with_a_title_for_each_box(self):
        titles = self.titles(self.render("profile.svg"))
        self.assertEqual(titles[:2], ["Orders (100 samples, 100.0 %, all)", "start (100 samples, 100.0 %, native)"])
        self.assertIn("tcp_recvmsg (15 samples, 15.0 %, kernel)", titles)

    def test_no_name_ends_it(self):
        titles = self.titles(self.render("profile.svg", f"main;start;{HOSTILE} 10"))
        self.assertEqual(len(titles), 3)
        self.assertIn("</script><script>window.broken=1</script>", titles[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
