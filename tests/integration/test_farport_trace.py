"""`farport trace` records what dotnet-trace would, where there is no .NET."""

import os
import signal
import time

from harness import needs, wait
from harness.agent import ALLOW_TOOLS
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.network import Network
from harness.recordings import ALL_OF_ORDERS, Recordings
from harness.silent import PROVIDER, Silent
from harness.terminal import Terminal
from harness.traces import hex_of

AT_ONCE_SECONDS = 5.0


class FarportTrace(Recordings, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.lab.orders("--rate", "1000", "--discounts", "12", busy=True)
        cls.audit = os.path.join(cls.lab.directory, "audit.jsonl")
        cls.agent = cls.share(cls.lab.agent("--audit", cls.audit, *QUICK_PINGS))

    def setUp(self):
        self.addCleanup(self.network.mend)

    def file(self):
        return os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")

    def start(self, *arguments, target=None, pair=None):
        return self.lab.near.start(needs.farport(), "trace", target or self.agent.remote, *(pair or self.lab.tools_pair).flags(),
                                   *arguments, name="farport-trace")

    def record(self, *arguments, **options):
        process = self.start(*arguments, **options)
        process.wait()
        return process

    def begin(self, *arguments):
        """A recording that has begun, and its file."""
        file = self.file()
        process = self.start("-o", file, *arguments)
        self.wait_until_begun(process, file)
        return process, file

    def arguments_of(self, record):
        """What the audit says of the last session that `record` has begun."""
        with open(self.audit, encoding="utf-8") as file:
            before = file.read().count("CollectTracing")
        record()

        def last():
            with open(self.audit, encoding="utf-8") as file:
                lines = [line for line in file if "CollectTracing" in line]
            return lines[-1] if len(lines) > before else None

        line = wait.until(last, "the audit has it")
        return line[line.index('"command":"'):line.index('"decision"')]

    def test_it_asks_for_what_dotnet_trace_asks_for(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        pid = mirror.wait_for(self.application)[0]["local_pid"]
        for words in ((), ("--profile", "dotnet-common"), ("--profile", "gc-verbose"), ("--profile", "gc-collect"),
                      ("--providers", "Orders"), ("--providers", "Orders:0x1"), ("--providers", "Orders::Verbose"),
                      ("--providers", "Orders:1:3:a=b"), ("--providers", "Orders:0x1:3,System.Runtime"),
                      ("--profile", "dotnet-common,gc-verbose"), ("--profile", "dotnet-common", "--providers", "Orders"),
                      ("--providers", "Orders", "--rundown", "false")):
            stock = self.arguments_of(lambda words=words: self.assert_ok(self.tools.trace(
                "collect", "-p", pid, "--duration", "00:00:01", "-o", self.file(), *words)))
            own = self.arguments_of(lambda words=words: self.record("-o", self.file(), "--duration", "1s", *words))
            self.assertEqual(own, stock, words)
        mirror.stop()

    def test_the_stock_tool_converts_it(self):
        file = self.file()
        done = self.record("-o", file, "--duration", "00:00:02")
        self.assertEqual(done.wait(), 0, done.output())
        self.assertEqual(done.stdout().strip(), file)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        frames = self.tools.frames(file)
        self.assertTrue([frame for frame in frames if "Orders.Pricing.PriceOrder" in frame], sorted(frames))

    def test_it_ends_by_itself_when_the_event_comes(self):
        file = self.file()
        done = self.record("-o", file, "--providers", ALL_OF_ORDERS, "--rundown", "false", "--stopping-event-provider-name", "Orders",
                           "--stopping-event-event-name", "Priced", "--stopping-event-payload-filter", "customer:customer-042")
        self.assertEqual(done.wait(), 0, done.output())
        events = self.assert_ok(self.lab.near.run(needs.nettrace_dump(), file)).stdout.splitlines()
        self.assertTrue([line for line in events if hex_of("customer-042") in line], events[-5:])

    def test_ctrl_c_ends_it_well_though_its_session_breaks(self):
        process, file = self.begin("--providers", ALL_OF_ORDERS, *QUICK_PINGS)
        for cut in (lambda: self.assertEqual(self.network.reset(self.agent.port), 1), self.away):
            cut()
            time.sleep(1)
        # Some 2,000 events, of which a busy machine records 60 a second.
        wait.until(lambda: os.path.getsize(file) > 1_000_000, process.output)
        self.assertEqual(process.stop(signal.SIGINT, 60), 0, process.output())
        self.assert_whole(file)
        self.assertIn("dialling again", process.stderr())

    def away(self):
        with self.network.dark():
            time.sleep(3)

    def test_a_runtime_that_ends_ends_it(self):
        application = self.lab.orders("--rate", "500")
        self.agent.wait_for(self.application, application)
        file = self.file()
        process = self.start("-o", file, "--providers", ALL_OF_ORDERS, target=f"{self.agent.remote}/{application.pid_inside}")
        self.wait_until_begun(process, file)
        application.stop()
        self.assertEqual(process.wait(), 0, process.output())
        self.assertGreater(int(self.assert_ok(self.tools.driver("read", file)).values()["events"]), 0)

    def test_a_runtime_that_is_killed_is_said_and_what_came_is_kept(self):
        application = self.lab.orders("--rate", "500")
        self.agent.wait_for(self.application, application)
        file = self.file()
        process = self.start("-o", file, "--providers", ALL_OF_ORDERS, target=f"{self.agent.remote}/{application.pid_inside}")
        wait.until(lambda: os.path.exists(file) and os.stat(file).st_size > 1000, process.output)
        application.process.kill()
        self.assertEqual(process.wait(), 1, process.output())
        self.assertEqual(process.stdout().strip(), file)
        self.assertIn("it was killed, or it crashed", process.stderr())
        self.assertGreater(os.stat(file).st_size, 1000)

    def test_older_runtimes_are_asked_in_their_words(self):
        for framework in ("net8.0", "net9.0"):
            process = self.lab.far.start(needs.talkative(framework), "600")
            wait.until(lambda own=process: str(own.pid_on_host) in [str(runtime["pid"]) for runtime in self.agent.runtimes()],
                       process.output)
            for profile in ("gc-collect", "gc-verbose", "dotnet-sampled-thread-time"):
                file = self.file()
                done = self.record("-o", file, "--profile", profile, "--duration", "1s", target=f"{self.agent.remote}/{process.pid_on_host}")
                self.assertEqual(done.wait(), 0, done.output())
                self.assert_ok(self.tools.driver("read", file))
            process.kill()

    def test_a_terminal_shows_how_far_it_is_in_one_line(self):
        file = self.file()
        terminal = Terminal(self.lab.near, needs.farport(), "trace", self.agent.remote, *self.lab.tools_pair.flags(), "-o",
                            file, "--duration", "10m", columns=60)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("s left")
        self.assertTrue(all(len(line) < 60 for line in terminal.lines()), terminal.shown())
        os.kill(terminal.pid, signal.SIGINT)
        self.assertEqual(terminal.wait(), 0, terminal.shown())
        self.assertIn("orders.nettrace", "".join(terminal.lines()))

    def test_what_goes_wrong_is_said_and_leaves_no_file(self):
        file = self.file()
        for arguments, code, words in (
                (("--profile", "cpu"), 2, "dotnet-common"), (("--providers", "Orders:zz"), 2, "hexadecimal"),
                (("--providers", "Orders:1:9"), 2, "level"), (("--duration", "soon"), 2, "a whole number"), (("--duration", "00:30"), 2, "00:00:30"),
                (("--stopping-event-event-name", "Priced"), 2, "--stopping-event-provider-name")):
            done = self.record("-o", file, *arguments)
            self.assertEqual(done.wait(), code, done.output())
            self.assertIn(words, done.stderr())
        done = self.record("-o", file, target=self.agent.remote + "/nobody")
        self.assertEqual(done.wait(), 1, done.output())
        self.assertIn("nobody", done.stderr())
        done = self.record("-o", file, pair=self.lab.authority.client("mallory"))
        self.assertEqual(done.wait(), 1, done.output())
        self.assertFalse(os.path.exists(file))
        with open(file, "wb") as there:
            there.write(b"mine")
        done = self.record("-o", file)
        self.assertEqual(done.wait(), 1, done.output())
        self.assertIn("--force", done.stderr())
        with open(file, "rb") as there:
            self.assertEqual(there.read(), b"mine")
        done = self.record("-o", "/proc/nothing/x.nettrace")
        self.assertEqual(done.wait(), 1, done.output())

    def test_a_full_disk_is_said(self):
        directory = self.lab.new_directory(self.lab.near, "full")
        script = 'mount -t tmpfs -o size=8k none "$0" && "$@"; code=$?; ls -A "$0"; exit $code'
        done = self.lab.near.run("unshare", "--mount", "sh", "-c", script, directory, needs.farport(), "trace", self.agent.remote,
                                 *self.lab.tools_pair.flags(), "-o", f"{directory}/x.nettrace", "--duration", "1s")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("No space left", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_it_goes_into_a_file_and_into_nothing_else(self):
        for path in ("/dev/full", "/dev/null"):
            done = self.record("-o", path, "--force", "--duration", "1s")
            self.assertEqual(done.wait(), 1, done.output())
            self.assertIn("it is no regular file", done.stderr())


class LeftRunning(Case):
    """Nothing goes on in the runtime when it is killed, however silent its provider is."""

    @classmethod
    def prepare(cls):
        cls.runtime = Silent(cls.lab)
        cls.agent = cls.share(cls.lab.agent("--grace", "2s", *QUICK_PINGS, allow=ALLOW_TOOLS))
        cls.agent.wait_for(cls.runtime)
        cls.runtime.rest()

    def start(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "silent.nettrace")
        process = self.lab.near.start(needs.farport(), "trace", self.agent.remote, "--providers", PROVIDER, "-o", file,
                                      *self.lab.tools_pair.flags())
        self.runtime.wait_until_enabled()
        # The runtime records before farport has been told so.
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, process.output)
        return process

    def test_killed(self):
        self.start().kill()
        self.runtime.wait_until_free()

    def test_ended(self):
        process = self.start()
        self.assertEqual(process.stop(signal.SIGTERM, 30), 0, process.output())
        self.runtime.wait_until_free(AT_ONCE_SECONDS)


if __name__ == "__main__":
    main()
