"""Certificates, keys, CAs and CRLs that are replaced while agent and mirror run."""

import json
import os
import signal
import ssl

from harness import ipc, needs, proc, sockets, wait
from harness.api import Api
from harness.case import main
from harness.certificates import Authority
from harness.reloading import SILENT, ReloadCase
from harness.secret import write

# What a removed CA has cut off waits for so long.
SHORT_GRACE = ("--grace", "3s")
STAYS = "what was read before stays in use"


class AgentFiles(ReloadCase):
    """How files are replaced."""

    def test_files_that_are_written_in_place_are_read_again(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        mirror, row = self.start_mirror(self.lab.tools_pair)
        self.assert_shows(self.lab.agent_pair)
        for name, sources in self.files(self.next_agent_pair).items():
            write(os.path.join(directory, name), sources)
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)
        self.assertIn("our certificate CN=next", agent.log())
        self.assertIn("valid until", agent.log())
        self.assert_answers(row)
        self.assertNotIn("dialling again", mirror.process.stderr())

    def test_files_that_are_renamed_over_the_old_ones_are_read_again(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        for name, sources in self.files(self.next_agent_pair).items():
            write(os.path.join(directory, name + ".new"), sources)
            os.rename(os.path.join(directory, name + ".new"), os.path.join(directory, name))
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)

    def test_a_secret_of_kubernetes_is_read_again_each_time_it_is_swapped(self):
        secret = self.secret(self.lab.far, self.files(self.lab.agent_pair))
        agent = self.start_agent(secret.pair())
        for times, pair in enumerate((self.next_agent_pair, self.lab.agent_pair, self.next_agent_pair), 1):
            secret.put(self.files(pair))
            self.wait_until_read(agent.process, times)
            self.assert_shows(pair)
        self.assertNotIn(STAYS, agent.log())

    def test_a_directory_that_is_replaced_is_noticed(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        os.rename(directory, directory + ".old")
        os.rename(self.plain(self.lab.far, self.next_agent_pair), directory)
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)
        for name, sources in self.files(self.lab.agent_pair).items():
            write(os.path.join(directory, name), sources)
        self.wait_until_read(agent.process, 2)
        self.assert_shows(self.lab.agent_pair)

    def test_sighup_reads_them_again_whether_they_have_changed_or_not(self):
        agent = self.start_agent(self.lab.agent_pair)
        mirror, row = self.start_mirror(self.lab.tools_pair)
        agent.process.send(signal.SIGHUP)
        self.wait_until_read(agent.process)
        self.assertIn("the same as before", agent.log())
        self.assert_answers(row)
        self.assertNotIn("dialling again", mirror.process.stderr())

    def test_a_broken_certificate_is_reported_once_and_the_old_one_stays_until_it_is_mended(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        with open(os.path.join(directory, "tls.crt"), "w", encoding="ascii") as file:
            file.write("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
        wait.until(lambda: STAYS in agent.log(), agent.log)
        self.assertIn(f"cannot use certificate {directory}/tls.crt: certificate 1 in it is damaged", agent.log())
        self.assert_shows(self.lab.agent_pair)
        # Other changes around it are no reason to say it again.
        for number in range(3):
            write(os.path.join(directory, f"unrelated-{number}"), self.lab.agent_pair.cert)
        agent.process.send(signal.SIGHUP)
        wait.until(lambda: agent.log().count(STAYS) == 2, agent.log)
        for name, sources in self.files(self.next_agent_pair).items():
            write(os.path.join(directory, name), sources)
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)
        self.assertEqual(agent.log().count(STAYS), 2, agent.log())

    def test_a_broken_bundle_of_cas_is_reported_and_the_old_one_goes_on_to_let_in_and_keep_out(self):
        secret = self.secret(self.lab.far, self.files(self.lab.agent_pair))
        agent = self.start_agent(secret.pair())
        with open(self.lab.agent_pair.ca, encoding="ascii") as file:
            good = file.read()
        cut = os.path.join(self.lab.directory, "cut.crt")
        # The first CA is whole, the second one was cut off on its way.
        with open(cut, "w", encoding="ascii") as file:
            file.write(good + good[:len(good) // 2])
        secret.put(self.files(self.lab.agent_pair) | {"ca.crt": [cut]})
        wait.until(lambda: STAYS in agent.log(), agent.log)
        self.assertIn("certificate 2 in it is damaged", agent.log())
        self.start_mirror(self.lab.tools_pair)
        self.assert_refused(self.trusting(self.other_tools_pair, self.lab.agent_pair), "did not accept")
        secret.put(self.files(self.lab.agent_pair, self.lab.agent_pair, self.other_agent_pair))
        self.wait_until_read(agent.process)
        self.start_mirror(self.trusting(self.other_tools_pair, self.lab.agent_pair))

    def test_a_certificate_without_its_key_is_reported_and_taken_once_the_key_has_come(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        write(os.path.join(directory, "tls.crt"), self.next_agent_pair.cert)
        wait.until(lambda: STAYS in agent.log(), agent.log)
        self.assertIn("it is not the key of the certificate", agent.log())
        self.assert_shows(self.lab.agent_pair)
        write(os.path.join(directory, "tls.key"), self.next_agent_pair.key)
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)

    def test_files_that_are_gone_for_a_while_are_reported_and_taken_when_they_are_back(self):
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        agent = self.start_agent(self.pair_in(directory))
        os.unlink(os.path.join(directory, "ca.crt"))
        wait.until(lambda: STAYS in agent.log(), agent.log)
        self.assertIn(f"{directory}/ca.crt: No such file or directory", agent.log())
        write(os.path.join(directory, "ca.crt"), self.lab.agent_pair.ca)
        self.wait_until_read(agent.process)

    def test_a_certificate_that_ends_soon_is_warned_of(self):
        soon = self.lab.authority.with_dates("soon", -80, 9.5, server=True)
        agent = self.start_agent(soon)
        wait.until(lambda: "our certificate CN=soon" in agent.log(), agent.log)
        self.assertIn("in 9 days: renew it", agent.log())
        self.assertNotIn("the CA ", agent.log())


class AgentTrust(ReloadCase):
    """Whom the agent lets in, and whom it no longer does."""

    def lines(self, path, event):
        with open(path, encoding="utf-8") as file:
            return [line for line in map(json.loads, file) if line["audit"] == event]

    def test_a_removed_ca_ends_its_sessions_and_no_others(self):
        secret = self.secret(self.lab.far, self.files(self.lab.agent_pair, self.lab.agent_pair, self.other_agent_pair))
        audit = os.path.join(self.lab.new_directory(self.lab.far, "audit"), "audit.jsonl")
        agent = self.start_agent(secret.pair(), "--audit", audit, *SHORT_GRACE)
        leaving, leaving_row = self.start_mirror(self.lab.tools_pair, flags=SHORT_GRACE)
        staying, staying_row = self.start_mirror(self.trusting(self.other_tools_pair, self.lab.agent_pair))
        cut_off = self.hold(leaving_row)
        trace, file = self.start_trace(staying_row)

        secret.put(self.files(self.lab.agent_pair, self.other_agent_pair))
        wait.until(lambda: "ended the session of CN=tools" in agent.log(), agent.log)
        cut_off.wait()
        self.assertIn("no longer trusts CN=farport CA", agent.log())
        self.assertIn("is no longer trusted", agent.log())
        line = wait.until(lambda: self.lines(audit, "session"), "the audit tells of it")[0]
        self.assertEqual(line["decision"], "refused", line)
        self.assertIn("is no longer trusted", line["outcome"])

        leaving.process.wait_for_output("did not accept")
        self.assert_refused(self.lab.tools_pair, "did not accept")
        self.assert_answers(staying_row)
        self.assert_whole(trace, file)
        self.assertNotIn("dialling again", staying.process.stderr())
        # Once it is trusted again, the mirror comes back by itself.
        secret.put(self.files(self.lab.agent_pair, self.lab.agent_pair, self.other_agent_pair))
        self.wait_until_read(agent.process, 2)
        wait.until(lambda: leaving.rows() and leaving.rows()[0]["connected"], leaving.process.output)
        self.assert_answers(leaving.rows()[0])

    def test_a_removed_ca_ends_raw_connections(self):
        secret = self.secret(self.lab.far, self.files(self.lab.agent_pair, self.lab.agent_pair, self.other_agent_pair))
        agent = self.start_agent(secret.pair())
        agent.wait_for(self.application)
        with Api(self.lab).connect() as connection:
            connection.sendall(ipc.session(ipc.COLLECT_TRACING + 1, SILENT))
            self.assertTrue(connection.recv(65536))
            secret.put(self.files(self.lab.agent_pair, self.other_agent_pair))
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                while connection.recv(65536):
                    pass
                raise ConnectionError
        wait.until(lambda: "ended the session of CN=tools" in agent.log(), agent.log)
        wait.until(lambda: sockets.connections_to(agent.process, self.application.socket) == 0,
                   "the runtime's session is closed")

    def test_a_revoked_certificate_ends_its_session_and_no_other(self):
        revoked = self.lab.authority.client("revoked")
        secret = self.secret(self.lab.far, self.files(self.lab.agent_pair, crl=self.lab.authority.crl()))
        agent = self.start_agent(secret.pair(), allow=("--allow-all=admin",))
        leaving, leaving_row = self.start_mirror(revoked)
        staying, staying_row = self.start_mirror(self.lab.tools_pair)
        cut_off = self.hold(leaving_row)
        trace, file = self.start_trace(staying_row)

        secret.put(self.files(self.lab.agent_pair, crl=self.lab.authority.crl(revoked)))
        wait.until(lambda: "ended the session of CN=revoked" in agent.log(), agent.log)
        cut_off.wait()
        self.assertIn("its certificate has been revoked", agent.log())
        self.assertIn("revokes 1 certificate,", agent.log())
        leaving.process.wait_for_output("it is revoked")
        self.assert_refused(revoked, "it is revoked")
        self.assert_whole(trace, file)
        self.assertNotIn("dialling again", staying.process.stderr())

    def test_a_crl_that_is_no_good_is_reported_and_the_old_one_stays(self):
        revoked = self.lab.authority.client("gone")
        directory = self.plain(self.lab.far, self.lab.agent_pair)
        crl = os.path.join(directory, "crl.pem")
        write(crl, self.lab.authority.crl(revoked))
        agent = self.start_agent(self.pair_in(directory), allow=("--allow-all=admin",))
        for times, (broken, why) in enumerate((
                (self.lab.authority.crl(last_day=-2), "is out of date since"),
                (self.lab.agent_pair.cert, "it holds a certificate; a CRL begins with"),
                (self.impostors_crl(), "is not signed by the CA of that name")), 1):
            write(crl, broken)
            wait.until(lambda: agent.log().count(STAYS) == times, agent.log)
            self.assertIn(why, agent.log())
            self.assert_refused(revoked, "it is revoked")
        agent.wait_for(self.application)

    def impostors_crl(self):
        """An empty list in the name of the CA, signed with another key."""
        directory = self.lab.new_directory(self.lab.far, "impostor")
        subject = self.lab.authority.subject()
        self.lab.authority.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                                   "-subj", f"/CN={subject}", "-keyout", f"{directory}/ca.key", "-out",
                                   f"{directory}/ca.crt")
        impostor = Authority.__new__(Authority)
        impostor.directory = directory
        return impostor.crl()

    def test_a_certificate_that_expires_ends_its_session(self):
        short = self.lab.authority.with_dates("short", -1, 12 / 86400)
        agent = self.start_agent(self.lab.agent_pair, *SHORT_GRACE, allow=("--allow-all=admin",))
        staying, staying_row = self.start_mirror(self.lab.tools_pair)
        _, row = self.start_mirror(short, flags=SHORT_GRACE)
        cut_off = self.hold(row)
        wait.until(lambda: "ended the session of CN=short" in agent.log(), agent.log)
        self.assertIn("its certificate expired on", agent.log())
        cut_off.wait()
        self.assert_answers(staying_row)
        self.assertNotIn("dialling again", staying.process.stderr())


class MirrorFiles(ReloadCase):
    """The same at the tools' end."""

    def test_a_trace_goes_on_while_both_sides_get_new_certificates(self):
        far = self.secret(self.lab.far, self.files(self.lab.agent_pair))
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair))
        agent = self.start_agent(far.pair(), allow=("--allow-all=admin",))
        mirror, row = self.start_mirror(near.pair())
        trace, file = self.start_trace(row)
        next_tools = self.lab.authority.client("next-tools")
        # A new CA comes before what it issues, and the old one goes last.
        far.put(self.files(self.next_agent_pair, self.lab.agent_pair, self.other_agent_pair))
        near.put(self.files(next_tools, self.lab.agent_pair, self.other_agent_pair))
        self.wait_until_read(agent.process)
        self.wait_until_read(mirror.process)
        self.assert_shows(self.next_agent_pair)
        self.assert_whole(trace, file)
        self.assertNotIn("dialling again", mirror.process.stderr())
        self.assertIn("our certificate CN=next-tools", mirror.process.stderr())

    def test_a_trace_goes_on_while_both_sides_get_another_ca(self):
        far = self.secret(self.lab.far, self.files(self.lab.agent_pair))
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair))
        agent = self.start_agent(far.pair())
        mirror, row = self.start_mirror(near.pair())
        trace, file = self.start_trace(row)
        near.put(self.files(self.other_tools_pair))
        self.wait_until_read(mirror.process)
        far.put(self.files(self.other_agent_pair))
        self.wait_until_read(agent.process)
        wait.until(lambda: mirror.rows() and mirror.rows()[0]["connected"], mirror.process.output)
        both = self.trusting(self.lab.tools_pair, self.lab.agent_pair, self.other_agent_pair)
        self.assert_refused(both, "did not accept")
        self.assert_answers(row)
        self.assert_whole(trace, file)
        self.assertGreater(mirror.rows()[0]["breaks"], 0)

    def test_no_event_is_lost_while_certificates_rotate(self):
        far = self.secret(self.lab.far, self.files(self.lab.agent_pair))
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair))
        agent = self.start_agent(far.pair())
        busy = self.lab.orders()
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.use(self.lab.mirror(agent.remote, pair=near.pair(), directory=directory))
        row = mirror.wait_for(self.application, busy)[1]
        tool = self.tools.start_driver("until-end", row["local_pid"])
        tool.wait_for_output("open True")
        for times, pair in enumerate((self.next_agent_pair, self.lab.agent_pair), 1):
            far.put(self.files(pair))
            near.put(self.files(self.lab.tools_pair))
            self.wait_until_read(agent.process, times)
            self.wait_until_read(mirror.process, times)
        busy.stop()
        tool.wait()
        self.assertIn("whole True", tool.stdout(), tool.output())
        self.assertIn("lost 0", tool.stdout(), tool.output())

    def test_the_next_session_has_the_new_certificate(self):
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair))
        agent = self.start_agent(self.lab.agent_pair, allow=("--allow-all=admin",))
        mirror, _ = self.start_mirror(near.pair())
        newest = self.lab.authority.client("newest")
        near.put(self.files(newest))
        self.wait_until_read(mirror.process)
        agent.stop()
        again = self.start_agent(self.lab.agent_pair, allow=("--allow-all=admin",))
        wait.until(lambda: "session of CN=newest" in again.log(), again.log)
        self.assertNotIn("session of CN=tools", again.log())

    def test_an_agent_of_a_removed_ca_is_left_and_found_again(self):
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair))
        self.start_agent(self.lab.agent_pair)
        mirror, row = self.start_mirror(near.pair(), flags=SHORT_GRACE)
        cut_off = self.hold(row)
        near.put(self.files(self.lab.tools_pair, self.other_agent_pair))
        mirror.process.wait_for_output("is no longer trusted")
        cut_off.wait()
        mirror.process.wait_for_output("is signed by another CA")
        near.put(self.files(self.lab.tools_pair))
        wait.until(lambda: mirror.rows() and mirror.rows()[0]["connected"], mirror.process.output)
        self.assert_answers(mirror.rows()[0])

    def test_an_agent_whose_certificate_is_revoked_is_left(self):
        near = self.secret(self.lab.near, self.files(self.lab.tools_pair, crl=self.lab.authority.crl()))
        self.start_agent(self.lab.agent_pair)
        mirror, row = self.start_mirror(near.pair())
        cut_off = self.hold(row)
        near.put(self.files(self.lab.tools_pair, crl=self.lab.authority.crl(self.lab.agent_pair)))
        mirror.process.wait_for_output("its certificate has been revoked")
        cut_off.wait()
        mirror.process.wait_for_output("has been revoked, says the CRL")

    def test_sighup_reads_them_again_where_no_terminal_has_gone(self):
        self.start_agent(self.lab.agent_pair)
        enter = [*self.lab.near.enter, needs.program("setsid")]
        mirror, row = self.start_mirror(self.lab.tools_pair, enter=enter)
        mirror.process.send(signal.SIGHUP)
        self.wait_until_read(mirror.process)
        self.assert_answers(row)
        self.assertTrue(proc.is_alive(mirror.process.pid))


if __name__ == "__main__":
    main()
