"""The session under a diagnostic connection breaks, in every way: the connection goes on where it was, and neither
end notices more than a pause."""

import threading

from harness import ipc, sockets, wait
from harness.breaking import Breaking
from harness.case import main
from harness.exchange import HEAD_BYTES, MIB, ask, read_exactly


class Resume(Breaking):
    def check(self, mirror, make, **options):
        """Streams both ways, a break, and the streams to their proper ends."""
        exchange = self.exchange(mirror, **options)
        exchange.wait_for_more()
        before = len(mirror.states())
        make()
        mirror.wait_until_back(before)
        exchange.wait_for_more()
        exchange.finish()

    def test_a_reset(self):
        self.check(self.direct, lambda: self.assertEqual(self.network.reset(self.agent.port), 1))

    def test_a_reset_by_the_agents_side(self):
        self.check(self.proxied, lambda: self.assertEqual(self.proxy.tell("reset"), 1))

    def test_a_connection_that_is_closed_in_the_middle(self):
        self.check(self.proxied, lambda: self.assertEqual(self.proxy.tell("close"), 1))

    def test_a_proxy_that_is_killed(self):
        self.check(self.proxied, self.restart_proxy)

    def test_a_proxy_that_stalls_and_never_goes_on_with_the_old_connection(self):
        def stall():
            before = len(self.proxied.states())
            self.proxy.tell("stall")
            self.proxied.wait_for_break(before)
            self.restart_proxy()

        self.check(self.proxied, stall)

    def test_packets_lost_in_both_directions(self):
        self.check(self.direct, lambda: self.darken_until_noticed(self.direct))

    def test_packets_lost_on_the_way_to_the_tools(self):
        self.check(self.direct, lambda: self.darken_until_noticed(self.direct, to_far=False))

    def test_packets_lost_on_the_way_to_the_runtimes(self):
        self.check(self.direct, lambda: self.darken_until_noticed(self.direct, to_near=False))

    def test_a_cable_that_is_pulled_out_for_a_while(self):
        def unplug():
            before = len(self.direct.states())
            with self.network.unplugged():
                self.direct.wait_for_break(before)

        self.check(self.direct, unplug)

    def test_the_tools_host_has_another_address(self):
        def move():
            self.network.move()
            self.network.wait_until_reachable()
            address = self.lab.near.address
            wait.until(lambda: address in self.network.peers(self.agent.port), f"the mirror comes from {address}")

        self.check(self.direct, move)

    def test_with_both_windows_full(self):
        self.check(self.proxied, lambda: self.proxy.tell("reset"), rate=None)

    def test_a_break_that_tcp_itself_gets_over_goes_unnoticed(self):
        exchange = self.exchange(self.direct)
        exchange.wait_for_more()
        before = len(self.direct.states())
        with self.network.dark():
            pass
        exchange.wait_for_more()
        self.assertNotIn(False, self.direct.states()[before:])
        exchange.finish()

    def test_a_break_in_the_middle_of_the_resume(self):
        exchange = self.exchange(self.proxied)
        for _ in range(10):
            exchange.wait_for_more(1000)
            before = len(self.proxied.states())
            self.proxy.tell("reset")
            # As soon as the mirror is connected again, whatever it has got to say by then.
            wait.until(lambda: self.proxy.tell("reset"), "the mirror dials again")
            self.proxied.wait_until_back(before)
        exchange.wait_for_more()
        exchange.finish()

    def test_breaks_one_after_the_other(self):
        exchange = self.exchange(self.proxied)
        for _ in range(10):
            before = len(self.proxied.states())
            self.proxy.tell("reset")
            self.proxied.wait_until_back(before)
        exchange.wait_for_more()
        exchange.finish()

    def test_a_tool_that_has_finished_sending_gets_the_rest_of_its_answer(self):
        exchange = self.exchange(self.proxied, up=MIB)
        exchange.at_runtime.whole(MIB)
        before = len(self.proxied.states())
        self.proxy.tell("reset")
        self.proxied.wait_until_back(before)
        exchange.wait_for_more(directions=("at_tool",))
        exchange.finish()

    def test_a_runtime_that_has_finished_sending_gets_the_rest_of_what_the_tool_says(self):
        exchange = self.exchange(self.proxied, down=MIB)
        exchange.at_tool.whole(MIB)
        before = len(self.proxied.states())
        self.proxy.tell("reset")
        self.proxied.wait_until_back(before)
        exchange.wait_for_more(directions=("at_runtime",))
        exchange.finish()

    def test_both_ends_finish_while_the_session_is_broken(self):
        exchange = self.exchange(self.proxied, rate=100_000)
        exchange.wait_for_more(1000)
        before = len(self.proxied.states())
        self.proxy.kill()
        self.proxied.wait_for_break(before)
        exchange.from_tool.stop()
        exchange.from_runtime.stop()
        # What is within the window is taken without the session.
        sent = exchange.from_tool.finished(), exchange.from_runtime.finished()
        self.proxy.start()
        exchange.at_runtime.whole(sent[0])
        exchange.at_tool.whole(sent[1])

    def test_a_break_before_the_answer(self):
        for answered_while_broken in (False, True):
            tool = ask(self.socket_of(self.proxied))
            asked = self.runtime.next()
            before = len(self.proxied.states())
            self.proxy.kill()
            self.proxied.wait_for_break(before)
            if answered_while_broken:
                asked.begin_session(5)
            self.proxy.start()
            self.proxied.wait_until_back(before)
            if not answered_while_broken:
                asked.begin_session(5)
            self.assertEqual(ipc.parse_session(read_exactly(tool, HEAD_BYTES)), 5)
            asked.connection.sendall(b"and more")
            asked.connection.close()
            self.assertEqual(sockets.read_to_end(tool), b"and more")
            tool.close()

    def test_a_command_that_is_lost_on_its_way_is_asked_once(self):
        path = self.socket_of(self.proxied)
        self.proxy.tell("stall")
        tool = ask(path)
        self.assertTrue(self.runtime.nobody_asks(0.2))
        self.restart_proxy()
        asked = self.runtime.next()
        asked.begin_session(6)
        self.assertEqual(ipc.parse_session(read_exactly(tool, HEAD_BYTES)), 6)
        self.assertTrue(self.runtime.nobody_asks(1))
        asked.connection.close()
        tool.close()

    def test_a_stalled_reader_stays_stalled_and_holds_up_nobody(self):
        stalled = self.exchange(self.proxied, rate=None)
        stalled.at_tool.pause()
        other = self.exchange(self.proxied)
        other.wait_for_more()
        for _ in range(3):
            before = len(self.proxied.states())
            self.proxy.tell("reset")
            self.proxied.wait_until_back(before)
            other.wait_for_more()
        # A window, and what the kernels and the test itself hold.
        self.assertLess(stalled.from_runtime.sent - stalled.at_tool.received, 8 * MIB)
        stalled.at_tool.go_on()
        stalled.wait_for_more()
        stalled.finish()
        other.finish()

    def test_fifty_connections_at_once(self):
        exchanges = [self.exchange(self.proxied, rate=50_000) for _ in range(50)]
        for exchange in exchanges:
            exchange.wait_for_more(1000)
        for make in (lambda: self.proxy.tell("reset"), self.restart_proxy):
            before = len(self.proxied.states())
            make()
            self.proxied.wait_until_back(before)
            for exchange in exchanges:
                exchange.wait_for_more(1000)
        for exchange in exchanges:
            exchange.finish()

    def test_commands_given_while_the_session_is_broken_are_answered_after_it(self):
        path = self.socket_of(self.proxied)
        before = len(self.proxied.states())
        self.proxy.kill()
        self.proxied.wait_for_break(before)
        answers = []
        askers = [threading.Thread(target=lambda: answers.append(sockets.exchange(path, ipc.process_info(), 60)))
                  for _ in range(10)]
        for asker in askers:
            asker.start()
        session = ask(path)
        wait.stays(lambda: not answers, "nobody is answered without a session", 1)
        self.proxy.start()
        for asker in askers:
            asker.join(60)
        self.assertEqual([ipc.parse_process_info(answer)[0] for answer in answers], 10 * [self.runtime.pid_inside])
        asked = self.runtime.next()
        asked.begin_session(7)
        self.assertEqual(ipc.parse_session(read_exactly(session, HEAD_BYTES)), 7)
        asked.connection.close()
        session.close()

    def test_the_mirror_says_that_it_is_reconnecting_and_offers_the_runtime_all_the_while(self):
        row = self.proxied.wait_for(self.runtime)[0]
        before = len(self.proxied.states())
        self.proxy.kill()
        self.proxied.wait_for_break(before)
        broken = self.proxied.wait_for(self.runtime)[0]
        self.assertEqual((broken["connected"], broken["local_pid"], broken["socket"]),
                         (False, row["local_pid"], row["socket"]))
        self.proxy.start()
        self.proxied.wait_until_back(before)
        self.assertEqual(self.proxied.wait_for(self.runtime)[0]["socket"], row["socket"])


if __name__ == "__main__":
    main()
