"""Looking at runtimes with farport's own commands."""

import json
import signal
import time

from harness import needs


class Looking:
    """Runs farport's own commands; for cases that have an agent."""

    def look(self, command, *arguments, **options):
        """Starts a command."""
        target = options.pop("target", None) or self.agent.remote
        return self.lab.near.start(needs.farport(), command, target, *self.lab.tools_pair.flags(), *arguments,
                                   name=f"farport-{command}", **options)

    def look_whole(self, command, *arguments, code=0, **options):
        """The same to its end."""
        process = self.look(command, *arguments, **options)
        self.assertEqual(process.wait(), code, process.output())
        return process

    def end(self, process):
        """Ends it as Ctrl-C does."""
        self.assertEqual(process.stop(signal.SIGINT, 60), 0, process.output())
        return process

    def cut(self):
        """For those with a network of their own: the session breaks, and the network is away for a while."""
        self.network.reset(self.agent.port)
        with self.network.dark():
            time.sleep(2)


def objects(process):
    """The JSON objects that it has printed, each in a line."""
    return objects_of(process.stdout())


def objects_of(text):
    """The JSON objects in lines; the last one may not be whole yet."""
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
