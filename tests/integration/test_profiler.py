"""Profiles that an agent has the kernel take: what they find, who may have them, and what is left of them."""

import collections
import json
import os
import pathlib
import re
import secrets
import signal
import time

from harness import hotspot, http2, needs, proc, wait
from harness.api import Api
from harness.audit import Audit
from harness.case import Case, main
from harness.hotspot import Hotspot
from harness.nobody import NOBODY, as_nobody, pair_of_nobody
from harness.samples import Samples
from harness.silent_files import FILE, SILENT_FILES

WALL = 2
OK, BAD_REQUEST, FORBIDDEN, TOO_MANY, NOT_IMPLEMENTED = 200, 400, 403, 429, 501
ROLES = """
[runtimes]
rescan = "300ms"

[roles.profiler]
commands = ["profile"]

[[grants]]
cn = ["tools"]
role = "admin"
[[grants]]
cn = ["watcher"]
role = "observer"
[[grants]]
cn = ["operator"]
role = "operator"
[[grants]]
cn = ["profiler"]
role = "profiler"
"""


def paranoid():
    """kernel.perf_event_paranoid."""
    return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())


def sampler_of(agent):
    """The process that samples others for an agent."""
    return agent.helper("farport-sampler")


class Profiling(Case):
    """What the tests share."""

    def hotspot(self, *arguments, **options):
        return self.use(Hotspot(self.lab.far, *arguments, **options))

    def private(self):
        """A directory of nobody's."""
        directory = self.lab.new_directory(self.lab.far, "sockets")
        os.chown(directory, NOBODY, NOBODY)
        return directory

    def listed(self, application, pair=None):
        """The id of its runtime."""
        api = Api(self.lab, pair)
        return wait.until(lambda: api.runtimes().get(application.pid_inside), "the runtime is listed")["id"]

    def ask(self, application, pair=None, **parameters):
        """What the agent answers to the request for a profile."""
        query = "&".join(f"{name}={value}" for name, value in ({"duration": 2} | parameters).items())
        return Api(self.lab, pair).request(f"/v1/runtimes/{self.listed(application)}/profile?{query}", "--request", "POST")

    def profile(self, application, pair=None, **parameters):
        """A whole profile."""
        answer = self.ask(application, pair, **parameters)
        self.assertEqual(answer.status, OK, answer)
        samples = Samples(answer.body)
        self.assertGreater(len(samples.samples), 5)
        return samples

    def start(self, application, *arguments, pair=None, **parameters):
        """One that goes on: curl, which is at it."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        api = Api(self.lab, pair)
        path = f"/v1/runtimes/{self.listed(application)}/profile?{query}"
        return api.start("--max-time", "60", "--request", "POST", *arguments, api.base + path)


class Profiles(Profiling):
    """By an agent that is root and looks into all processes, as one that is brought along."""

    @classmethod
    def prepare(cls):
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "configuration"), "agent.toml")
        pathlib.Path(configuration).write_text(ROLES)
        cls.audit = Audit(os.path.join(cls.lab.directory, "audit.jsonl"))
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--audit", cls.audit.path, allow=(), search=["proc"]))
        cls.profiler = cls.lab.authority.client("profiler")
        cls.operator = cls.lab.authority.client("operator")
        cls.library = hotspot.compile_library(cls.lab.new_directory(cls.lab.far, "library"))

    def native(self, **options):
        """An application that is busy in a library which is in its own /tmp alone."""
        return self.hotspot("native", library=self.library, **options)

    def test_a_native_hot_spot_appears_by_name_whose_symbols_are_in_its_own_files_alone(self):
        samples = self.profile(self.native())
        self.assertEqual(samples.end, "time over")
        self.assertEqual(samples.lost, 0)
        stacks = [stack for _, _, stack in samples.samples]
        hot = [stack for stack in stacks if stack[:2] == [hotspot.LOCAL, hotspot.EXPORTED]]
        self.assertGreater(len(hot), 0.8 * len(stacks), samples.names())
        # The whole way in, by frame pointers: from main through the host and the runtime.
        files = collections.Counter(os.path.basename(frame[0] or "") for frame in hot[0] if not isinstance(frame, str))
        self.assertIn("libcoreclr.so", files)
        self.assertIn("hostfxr_main_startupinfo", hot[0])
        self.assertIn("coreclr_execute_assembly", hot[0])
        # What has no name can be looked up later.
        ids = {os.path.basename(path): build_id for _, _, _, path, build_id in samples.mappings}
        self.assertRegex(ids["libcoreclr.so"], "^[0-9a-f]{40}$")
        self.assertRegex(ids["libhotspot.so"], "^[0-9a-f]{40}$")
        main_thread = collections.Counter(thread for _, thread, _ in samples.samples).most_common(1)[0][0]
        self.assertEqual(samples.threads[main_thread], "hotspot")

    def test_a_file_is_made_for_who_has_curl_alone(self):
        application = self.native()
        folded = self.ask(application, format="folded")
        self.assertEqual((folded.status, folded.content_type), (OK, "text/plain; charset=utf-8"))
        stacks = [line.rpartition(" ") for line in folded.body.decode().splitlines()]
        counts = [int(count) for _, _, count in stacks]
        hot = sum(count for (stack, _, _), count in zip(stacks, counts, strict=True)
                  if stack.endswith(f";{hotspot.EXPORTED};{hotspot.LOCAL}"))
        self.assertGreater(hot, 0.8 * sum(counts), folded.body)
        # Its managed caller has a name, too.
        self.assertTrue([stack for stack, _, _ in stacks if "Program." in stack.split(f";{hotspot.EXPORTED}")[0]], folded.body)
        entry = self.audit.wait_for(audit="profile", outcome="completed", 
                                    arguments={"frequency": 99, "duration": 2, "kernel": True, "format": "folded"})
        self.assertEqual(entry["to_tool"], len(folded.body))
        page = self.ask(application, format="html", duration=1)
        self.assertEqual((page.status, page.content_type), (OK, "text/html; charset=utf-8"))
        self.assertIn(hotspot.EXPORTED.encode(), page.body)
        for form in ("svg", "speedscope", "pprof", "perf"):
            self.assertEqual(self.ask(application, format=form, duration=1).status, OK, form)

    def test_who_may_only_profile_gets_a_file_without_managed_names(self):
        folded = self.ask(self.native(), self.profiler, format="folded")
        self.assertEqual(folded.status, OK)
        self.assertIn(hotspot.EXPORTED.encode(), folded.body)
        self.assertNotIn(b"Program.", folded.body)

    def test_stacks_go_on_into_the_kernel_whose_place_stays_secret(self):
        samples = self.profile(self.hotspot("kernel", rest=0))
        self.assertTrue(samples.kernel)
        self.assertEqual(samples.notes, [])
        inside = [stack for _, _, stack in samples.samples if any("read" in str(frame) and "sys" in str(frame) for frame in stack)]
        self.assertGreater(len(inside), 0.5 * len(samples.samples), samples.names())
        real = {name: int(address, 16) for address, _, name in
                re.findall(r"^(\w+) ([tT]) (\w+)$", pathlib.Path("/proc/kallsyms").read_text(), re.MULTILINE)}
        told = {name: start for start, _, name, _ in samples.symbols if start >> 63}
        self.assertIn("do_syscall_64", told)
        for name, start in told.items():
            self.assertNotEqual(start, real.get(name), name)

    def test_the_kernels_own_functions_take_a_permission_of_their_own(self):
        # Busy by itself: what the kernel does for it is not sampled.
        application = self.hotspot()
        for name, pair in (("operator", self.operator), ("profiler", self.profiler)):
            samples = self.profile(application, pair)
            self.assertFalse(samples.kernel)
            self.assertEqual([note for note in samples.notes if "profile-kernel" in note], samples.notes)
            self.assertEqual(len(samples.notes), 1)
            self.assertEqual([start for start, _, _, _ in samples.symbols if start >> 63], [])
            entry = self.audit.wait_for(audit="profile", identity=f"CN={name}", outcome="completed")
            self.assertEqual((entry["role"], entry["arguments"]["kernel"]), (name, False))

    def test_threads_that_come_meanwhile_are_sampled_among_sixty_that_sleep(self):
        samples = self.profile(self.hotspot("newcomers", "--sleepers", 60), duration=5)
        names = collections.Counter(samples.threads.get(thread, "") for _, thread, _ in samples.samples)
        newcomers = [name for name in names if name.startswith("newcomer-")]
        self.assertGreater(len(newcomers), 3, names)
        self.assertEqual(samples.lost, 0)

    def test_only_a_role_that_has_it_by_name_may_profile_and_the_audit_says_who_did(self):
        application = self.hotspot()
        answer = self.ask(application, self.lab.authority.client("watcher"))
        self.assertEqual(answer.status, FORBIDDEN)
        self.assertIn("profile takes the role operator or admin or profiler", answer.error)
        entry = self.audit.wait_for(audit="profile", identity="CN=watcher")
        self.assertEqual(entry["decision"], "refused")
        # It sees the runtime, and nothing of it but this.
        self.profile(application, self.profiler, frequency=49)
        entry = self.audit.wait_for(audit="profile", identity="CN=profiler", arguments={"frequency": 49, "duration": 2, "kernel": False})
        self.assertEqual((entry["decision"], entry["role"], entry["outcome"]), ("allowed", "profiler", "completed"))
        self.assertEqual(entry["command"], "profile")
        self.assertGreater(entry["to_tool"], 100)

    def test_what_makes_no_sense_is_refused(self):
        application = self.hotspot()
        for parameters in ({"frequency": 0}, {"frequency": 100_000}, {"frequency": "x"}, {"duration": 0},
                           {"duration": 4000}, {"duration": "-1"}, {"format": "jpeg"}, {"event": "walls"}):
            answer = self.ask(application, **parameters)
            self.assertEqual(answer.status, BAD_REQUEST, parameters)

    def test_there_are_never_many_at_once(self):
        application = self.hotspot()
        running = [self.start(application, duration=30) for _ in range(2)]
        wait.until(lambda: len(proc.children(sampler_of(self.agent))) == 2, "two are under way")
        answer = self.ask(application)
        self.assertEqual(answer.status, TOO_MANY, answer)
        self.assertIn("the agent takes 2 profiles for you already", answer.error)
        # Others have theirs all the same.
        running += [self.start(application, pair=self.profiler, duration=30) for _ in range(2)]
        wait.until(lambda: len(proc.children(sampler_of(self.agent))) == 4, "four are under way")
        answer = self.ask(application, self.operator)
        self.assertEqual(answer.status, TOO_MANY, answer)
        self.assertIn("the agent takes 4 profiles already", answer.error)
        for each in running:
            each.kill()
        wait.until(lambda: not proc.children(sampler_of(self.agent)), "they have ended")
        self.profile(application)

    def test_ctrl_c_ends_it_though_the_runtime_tells_no_names(self):
        application = self.native()
        self.listed(application)
        file = os.path.join(self.lab.new_directory(self.lab.near, "profile"), "x.folded")
        running = self.lab.near.start(needs.farport(), "profile", f"{self.agent.remote}/{application.pid_inside}", "--duration",
                                      "2s", "-o", file, environment=self.lab.tools_pair.environment())
        wait.until(lambda: proc.children(sampler_of(self.agent)), "it is under way")
        time.sleep(1)
        application.process.freeze()
        wait.until(lambda: not proc.children(sampler_of(self.agent)), "what is left is the names")
        wait.stays(running.running, "it waits for the names", 1)
        self.assertEqual(running.stop(signal.SIGINT), 0, running.output())
        application.process.thaw()
        self.assertIn("methods of .NET have no names: it is interrupted", running.stderr())
        self.assertIn(hotspot.EXPORTED, pathlib.Path(file).read_text(encoding="utf-8"))

    def test_nothing_is_left_of_it_when_its_caller_is_killed(self):
        running = self.start(self.hotspot(), duration=60)
        wait.until(lambda: proc.children(sampler_of(self.agent)), "it is under way")
        running.kill()
        wait.until(lambda: not proc.children(sampler_of(self.agent)), "nothing is left of it")
        self.audit.wait_until_last(lambda entry: entry["outcome"].startswith("broken off"), audit="profile")

    def test_it_ends_when_its_caller_says_so_and_is_whole_then(self):
        client = http2.Client(self.lab)
        self.addCleanup(client.close)
        began = time.monotonic()
        stream = client.request("POST", f"/v1/runtimes/{self.listed(self.native())}/profile?duration=60", end=False)
        body = b""
        while len(body) < 200:
            each = client.next_frame()
            body += each.payload if each.kind == http2.DATA else b""
        client.send(http2.frame(http2.DATA, 0, stream, b"x"))
        body += b"".join(each.payload for each in client.frames_until(lambda f: f.flags & http2.END_STREAM and f.kind == http2.DATA, 30)
                         if each.kind == http2.DATA)
        samples = Samples(body)
        self.assertEqual(samples.end, "stopped")
        self.assertLess(time.monotonic() - began, 40)
        self.assertIn(hotspot.LOCAL, samples.names())

    def test_a_process_that_ends_meanwhile_ends_it_and_is_told_whole(self):
        application = self.native()
        path = os.path.join(self.lab.near.directory, "ends.samples")
        running = self.start(application, "--output", path, duration=60)
        wait.until(lambda: os.path.exists(path) and os.path.getsize(path) > 300, "it is sampled")
        application.process.kill()
        self.assertEqual(running.wait(), 0, running.output())
        samples = Samples(pathlib.Path(path).read_bytes())
        self.assertEqual(samples.end, "process ended")
        self.assertIn("coreclr_execute_assembly", samples.names())

    def test_a_session_that_breaks_in_the_middle_costs_no_sample(self):
        token, later = secrets.token_hex(16), secrets.token_hex(16)
        path = f"/v1/runtimes/{self.listed(self.native())}/profile?duration=4"
        first = http2.Client(self.lab)
        first.request("POST", path, ("farport-connection", token), end=False)
        body = b""
        while len(body) < 200:
            each = first.next_frame()
            body += each.payload if each.kind == http2.DATA else b""
        first.close()
        time.sleep(1)
        second = http2.Client(self.lab)
        self.addCleanup(second.close)
        second.request("POST", f"/v1/connections/{token}", ("farport-connection", later),
                       ("farport-received", str(len(body))), ("farport-from", "0"), end=False)
        frames = second.frames_until(lambda f: f.kind == http2.DATA and f.flags & http2.END_STREAM, 30)
        samples = Samples(body + b"".join(each.payload for each in frames if each.kind == http2.DATA))
        self.assertEqual((samples.end, samples.lost), ("time over", 0))
        times = [time_ns for time_ns, _, _ in samples.samples]
        # No hole where the break was.
        self.assertLess(max(after - before for before, after in zip(times, times[1:])), 1_000_000_000)

    def test_a_library_that_has_become_a_pipe_or_garbage_or_never_answers_costs_its_names_alone(self):
        garbage = b"\x7fELF\x02\x01\x01" + bytes(9) + secrets.token_bytes(4080)
        bomb = bytearray(pathlib.Path(self.library).read_bytes())
        # Its sections' count and place are nonsense.
        bomb[0x28:0x30] = b"\xff" * 8
        bomb[0x3c:0x3e] = b"\xff\xff"
        for kind, content in (("pipe", b""), ("garbage", garbage), ("nonsense", bytes(bomb)), ("silent", b"")):
            application = self.native()
            if kind == "silent":
                silent = application.start_in_its_files("/usr/bin/python3", "-c", SILENT_FILES, Hotspot.INSIDE, FILE)
                self.addCleanup(silent.kill)
                self.assertEqual(silent.stdout.readline(), b"mounted\n")
            else:
                make = "mkfifo /tmp/other" if kind == "pipe" else "cat >/tmp/other"
                application.in_its_files(f"{make}; mount --bind /tmp/other {Hotspot.INSIDE}", content)
            samples = self.profile(application)
            with self.subTest(kind):
                self.assertEqual(samples.end, "time over")
                self.assertNotIn(hotspot.LOCAL, samples.names())
                self.assertIn("coreclr_execute_assembly", samples.names())
                hot = [stack for _, _, stack in samples.samples if stack[0][0] == Hotspot.INSIDE]
                self.assertGreater(len(hot), 0.8 * len(samples.samples))
            application.stop()

    def test_what_its_user_may_not_read_has_no_names(self):
        application = self.native(user=NOBODY)
        self.assertIn(hotspot.LOCAL, self.profile(application).names())
        application.in_its_files(f"cp {Hotspot.INSIDE} /tmp/roots; chmod 600 /tmp/roots; mount --bind /tmp/roots {Hotspot.INSIDE}")
        samples = self.profile(application)
        self.assertNotIn(hotspot.LOCAL, samples.names())
        self.assertIn(f"{Hotspot.INSIDE} has no names: Permission denied", samples.notes)
        self.assertIn("coreclr_execute_assembly", samples.names())

    def test_an_agent_that_profiles_stays_small(self):
        if needs.is_sanitized():
            return
        application = self.native(rest=0)
        running = self.start(application, duration=5, frequency=999)
        most = 0
        while running.running():
            sampler = sampler_of(self.agent)
            pids = [self.agent.process.pid, sampler, *proc.children(sampler)]
            try:
                most = max(most, sum(proc.memory_kib(pid) for pid in pids))
            except (OSError, AttributeError):
                pass  # one has ended meanwhile
            time.sleep(0.1)
        self.assertGreater(most, 0)
        self.assertLess(most, 40 << 10)


class FromOutside(Profiling):
    """All threads, looked at without the kernel's samples and without the runtime."""

    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())

    def assert_sees(self, samples):
        """That threads which wait are seen whole, and the one that computes as such."""
        self.assertEqual((samples.clock, samples.end), (WALL, "time over"))
        by_name = {}
        for _, thread, stack in samples.samples:
            by_name.setdefault(samples.threads[thread], []).append(stack)
        # It serves the agent now and then.
        waiting = [stack for stack in by_name[".NET EventPipe"] if stack[:2] == ["poll(2)", "__poll"]]
        self.assertGreater(len(waiting), 10, by_name)
        for stack in waiting:
            self.assertEqual(stack[-1], "clone3")
            self.assertIn("libcoreclr.so", {os.path.basename(frame[0] or "") for frame in stack if not isinstance(frame, str)})
        self.assertGreater(len([stack for stack in by_name["hotspot"] if not stack]), 10)

    def look(self, port, **agent):
        """What an agent of its own answers to a request to look at the threads of an application of nobody's."""
        directory = self.private()
        self.use(self.lab.agent(search=[directory], port=port, **agent))
        application = self.hotspot(user=NOBODY, directory=directory, rest=0)
        api = Api(self.lab, port=port)
        listed = wait.until(lambda: api.runtimes().get(application.pid_inside), "the runtime is listed")
        return api.request(f"/v1/runtimes/{listed['id']}/profile?event=wall&frequency=20&duration=2", "--request", "POST")

    def test_threads_of_another_user_are_seen_by_root(self):
        answer = self.look(9001)
        self.assertEqual(answer.status, OK, answer)
        self.assert_sees(Samples(answer.body))

    def test_threads_of_the_same_user_are_seen_without_root(self):
        pair = pair_of_nobody(self.lab.agent_pair, self.lab.new_directory(self.lab.far, "certificates"))
        answer = self.look(9002, pair=pair, enter=as_nobody(self.lab.far))
        self.assertEqual(answer.status, OK, answer)
        self.assert_sees(Samples(answer.body))

    def test_what_may_not_be_looked_into_is_refused_and_why_is_said(self):
        bounded = [needs.program("setpriv"), "--bounding-set=-all,+dac_override", "--inh-caps=-all"]
        answer = self.look(9003, enter=[*self.lab.far.enter, *bounded])
        self.assertEqual(answer.status, NOT_IMPLEMENTED, answer)
        self.assertIn("CAP_SYS_PTRACE", answer.error)

    def test_managed_methods_have_names_where_the_runtime_answers(self):
        application = self.hotspot("managed", "--sleepers", 3)
        self.listed(application)
        done = self.lab.near.run(needs.farport(), "profile", f"{self.agent.remote}/{application.pid_inside}",
                                 *self.lab.tools_pair.flags(), "--event", "wall", "--duration", "2s")
        self.assertEqual(done.code, 0, done.described)
        self.assertRegex(done.stdout, r"Thread\.Sleep.*futex\(2\)_\[k\];\[waiting\] \d+")

    def test_a_process_that_is_stopped_can_be_looked_at(self):
        application = self.hotspot(rest=0)
        self.listed(application)
        application.process.freeze()
        self.addCleanup(application.process.thaw)
        target = f"{self.agent.remote}/{application.pid_inside}"
        done = self.lab.near.run(needs.farport(), "stacks", target, *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 0, done.described)
        self.assertIn("the stacks were sampled from outside the process: methods of .NET have no names", done.stderr)
        self.assertRegex(done.stdout, r"Thread \d+ \.NET EventPipe\n    poll\(2\)\n    libc\.so\.6!__poll\n")
        # What computed is stopped in the middle of it, within the application's own code.
        main_thread = done.stdout.split("\n\n")[0]
        self.assertIn("libcoreclr.so!coreclr_execute_assembly", main_thread)
        done = self.lab.near.run(needs.farport(), "stacks", target, *self.lab.tools_pair.flags(), "--format", "json")
        names = {thread["name"]: thread for thread in json.loads(done.stdout)}
        self.assertEqual(names[".NET EventPipe"]["stack"][:2], ["poll(2)", "libc.so.6!__poll"])
        self.assertNotIn("managed", names[".NET EventPipe"])
        done = self.lab.near.run(needs.farport(), "profile", target, *self.lab.tools_pair.flags(), "--event", "wall",
                                 "--duration", "1s", "--timeout", "1s")
        self.assertEqual(done.code, 0, done.described)
        self.assertIn("__poll;poll(2)_[k];[waiting]", done.stdout)


class Rights(Profiling):
    """What it takes, and what is said where it is missing."""

    def test_nothing_is_left_when_the_agent_is_killed(self):
        agent = self.lab.agent()
        application = self.hotspot()
        running = self.start(application, duration=60)
        sampler = sampler_of(agent)
        workers = wait.until(lambda: proc.children(sampler), "it is under way")
        agent.process.kill()
        wait.until(lambda: not any(proc.is_alive(pid) for pid in (sampler, *workers)), "nothing is left")
        self.assertNotEqual(running.wait(), 0)

    def test_a_sampler_that_is_killed_is_told_of(self):
        agent = self.use(self.lab.agent("--admin", "127.0.0.1:9464"))
        application = self.hotspot()
        self.listed(application)
        os.kill(sampler_of(agent), signal.SIGKILL)
        wait.until(lambda: "the process that takes profiles has ended" in agent.log(), agent.log)
        self.assertIn("start the agent again", self.ask(application).error)
        told = self.lab.near.run(needs.farport(), "doctor", agent.remote, *self.lab.tools_pair.flags()).text
        self.assertIn("can't be profiled by the kernel: the agent's process that takes profiles has ended", told)
        metrics = self.lab.far.run("curl", "--silent", "http://127.0.0.1:9464/metrics").stdout
        self.assertIn("farport_sampler_running 0", metrics)

    def test_the_sampler_has_nothing_of_the_agents_and_no_more_rights_than_it_takes(self):
        agent = self.use(self.lab.agent())
        sampler = sampler_of(agent)
        wait.until(lambda: proc.status(sampler, "Seccomp") == "2", "it is confined")
        opened = {os.readlink(f"/proc/{sampler}/fd/{number}").split(":")[0] for number in os.listdir(f"/proc/{sampler}/fd")}
        self.assertEqual(opened, {"/dev/null", "socket"})
        self.assertEqual(proc.open_sockets(sampler), 1)
        # KILL, SETGID, SETUID, SYS_CHROOT, SYS_PTRACE, SYSLOG, PERFMON.
        allowed = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 18 | 1 << 19 | 1 << 34 | 1 << 38
        self.assertEqual(int(proc.status(sampler, "CapEff"), 16) & ~allowed, 0)
        self.assertEqual(proc.status(sampler, "NoNewPrivs"), "1")

    def test_without_root_the_same_user_is_enough_and_what_is_missing_is_said(self):
        directory = self.private()
        pair = pair_of_nobody(self.lab.agent_pair, self.lab.new_directory(self.lab.far, "certificates"))
        agent = self.use(self.lab.agent(search=[directory], pair=pair, enter=as_nobody(self.lab.far)))
        application = self.hotspot("kernel", user=NOBODY, directory=directory, rest=0)
        answer = self.ask(application)
        if paranoid() > 2:
            self.assertEqual(answer.status, NOT_IMPLEMENTED)
            self.assertIn(f"kernel.perf_event_paranoid is {paranoid()}", answer.error)
            return
        samples = Samples(answer.body)
        self.assertIn("coreclr_execute_assembly", samples.names(), agent.process.output())
        self.assertEqual(samples.kernel, paranoid() < 2)
        if paranoid() == 2:
            self.assertEqual(samples.kernel_addresses(), [])
            self.assertIn("kernel.perf_event_paranoid is 2, and farport has no CAP_PERFMON", "".join(samples.notes))

    def test_another_users_process_takes_a_capability_and_that_is_said(self):
        directory = self.private()
        # Root that may read and connect, and nothing more.
        bounded = [needs.program("setpriv"), "--bounding-set=-all,+dac_override", "--inh-caps=-all"]
        self.use(self.lab.agent(search=[directory], enter=[*self.lab.far.enter, *bounded]))
        answer = self.ask(self.hotspot(user=NOBODY, directory=directory))
        self.assertEqual(answer.status, NOT_IMPLEMENTED, answer)
        for words in ("it is another user's process", "CAP_PERFMON", f"kernel.perf_event_paranoid is {paranoid()}"):
            self.assertIn(words, answer.error)


if __name__ == "__main__":
    main()
