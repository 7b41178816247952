"""The stock tools, on the near host."""

import json

from harness import needs, wait

# A tool is a .NET application too: without this it would put a diagnostic port of its own among the mirror's.
QUIET = {"DOTNET_EnableDiagnostics": "0"}


class Tools:
    """dotnet-trace and the driver."""

    def __init__(self, lab):
        self.host = lab.near
        self.lab = lab

    def trace(self, *arguments, seconds=wait.LONGEST_SECONDS, environment=None):
        """Runs dotnet-trace."""
        return self.host.run(needs.dotnet_trace(), *arguments, seconds=seconds,
                             environment=QUIET | (environment or {}))

    def start_trace(self, *arguments, environment=None):
        """Starts dotnet-trace."""
        return self.host.start(needs.dotnet_trace(), *arguments, environment=QUIET | (environment or {}))

    def driver(self, *arguments, seconds=wait.LONGEST_SECONDS, environment=None):
        """Runs the driver."""
        return self.host.run(needs.driver(), *arguments, seconds=seconds, environment=QUIET | (environment or {}))

    def start_driver(self, *arguments, environment=None):
        """Starts the driver."""
        return self.host.start(needs.driver(), *arguments, environment=QUIET | (environment or {}))

    def farport_run(self, *arguments, remote=(), seconds=90.0, environment=None):
        """`farport run [REMOTE] -- ARGUMENTS`."""
        variables = QUIET | self.lab.tools_pair.environment() | (environment or {})
        return self.host.run(needs.farport(), "run", *remote, "--", *arguments, seconds=seconds, environment=variables)

    def frames(self, trace_file):
        """The names of the frames in a trace, once the stock tool has converted it."""
        done = self.trace("convert", trace_file, "--format", "Speedscope")
        if done.code != 0:
            raise AssertionError(f"dotnet-trace convert: {done.described}")
        with open(trace_file.removesuffix(".nettrace") + ".speedscope.json", encoding="utf-8") as file:
            return {frame["name"] for frame in json.load(file)["shared"]["frames"]}
