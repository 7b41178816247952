"""What a trace holds of the sample application's beginning."""

# Each method as it is compiled; without the rundown, which names all methods at the end.
JITTING = ("--providers", "Microsoft-Windows-DotNETRuntime:0x10:5", "--rundown", "false")

# Only Main calls this, once, before anything else.
_FIRST = "Orders.Options"


def holds_the_start(path):
    """Whether a trace with the events above began before the application did."""
    return _names(path, _FIRST)


def holds_the_rundown(path):
    """Whether a trace has come to its end, where the runtime names all methods."""
    return _names(path, "PriceOrder")


def _names(path, method):
    with open(path, "rb") as file:
        return method.encode("utf-16-le") in file.read()
