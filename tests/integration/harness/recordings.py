"""Recordings of the sample application by dotnet-trace, of which no event may be missing."""

import os
import signal
import time

from harness import wait

# Each is numbered.
ALL_OF_ORDERS = "Orders:0xffffffffffffffff:5"


class Recordings:
    """Makes and checks them; for cases."""

    def wait_until_begun(self, tool, file):
        """Waits until there is something of a recording."""
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, tool.output)

    def begin_recording(self, row):
        """A recording of a mirrored runtime that has begun, and its file."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        tool = self.tools.start_trace("collect", "-p", row["local_pid"], "--providers", ALL_OF_ORDERS,
                                      "--duration", "00:05:00", "-o", file)
        self.wait_until_begun(tool, file)
        return tool, file

    def end_recording(self, tool, file, least_events=1000):
        """Has the tool end well, with a recording that is whole."""
        self.assertEqual(tool.stop(signal.SIGINT, 90), 0, tool.output())
        self.assert_whole(file, least_events)

    def assert_whole(self, file, least_events=1000):
        """That it came to its proper end, with every event that the runtime itself has not dropped."""
        self.assert_says_whole(self.assert_ok(self.tools.driver("read", file)).values(), least_events)

    def assert_says_whole(self, values, least_events=1000):
        """The same of what the driver says."""
        self.assertEqual(values["whole"], "True", values)
        self.assertGreater(int(values["events"]), least_events, values)
        self.assertLessEqual(int(values["missing"]), int(values["dropped"]), values)

    def break_one_after_the_other(self, mirror, breaks):
        """Has each break happen to the mirror's session, and waits until it is back."""
        for one in breaks:
            before = len(mirror.states())
            one()
            mirror.wait_until_back(before, 40)
            time.sleep(0.5)  # so that something is recorded in between
