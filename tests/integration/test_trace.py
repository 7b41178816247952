"""Stock dotnet-trace records a remote application as if it were local."""

import os

from harness.case import Case, main


class Trace(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(busy=True)
        agent = cls.share(cls.lab.agent())
        cls.port = os.path.join(cls.lab.new_directory(cls.lab.near, "chosen"), "orders.sock")
        cls.mirror = cls.share(cls.lab.mirror(agent.remote, flags=["--socket", f"orders={cls.port}"]))
        cls.row = cls.mirror.wait_for(cls.application)[0]

    def collect(self, *target):
        """Records for two seconds, and returns the names of the frames in the trace."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace("collect", *target, "--duration", "00:00:02", "--output", file))
        return self.tools.frames(file)

    def assert_orders_frames(self, frames):
        self.assertTrue([frame for frame in frames if "Orders.Pricing.PriceOrder" in frame], sorted(frames))

    def test_ps_lists_the_remote_application_under_its_command_line(self):
        listing = self.assert_ok(self.tools.trace("ps")).stdout
        lines = [line.split() for line in listing.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, listing)
        self.assertEqual(lines[0][:2], [str(self.row["local_pid"]), "orders"])
        self.assertIn("orders.dll --seconds 3600", " ".join(lines[0]))

    def test_collect_by_pid_records_the_applications_frames(self):
        self.assert_orders_frames(self.collect("--process-id", self.row["local_pid"]))

    def test_collect_by_name_records_the_applications_frames(self):
        self.assert_orders_frames(self.collect("--name", "orders"))

    def test_collect_by_a_socket_of_the_users_choosing_records_the_applications_frames(self):
        self.assert_orders_frames(self.collect("--diagnostic-port", f"{self.port},connect"))

    def test_a_tool_without_a_tmpdir_finds_the_application_through_its_placeholder(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        finished = self.tools.trace("collect", "-p", self.row["local_pid"], "--duration", "00:00:01", "-o", file,
                                    environment={"TMPDIR": self.lab.new_directory(self.lab.near, "elsewhere")})
        self.assert_ok(finished)

    def test_a_trace_leaves_no_connection_behind(self):
        self.collect("--process-id", self.row["local_pid"])
        self.assertEqual(self.mirror.wait_for(self.application)[0]["connections"], 0)


if __name__ == "__main__":
    main()
