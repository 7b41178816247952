"""What comes to a directory by `farport artifacts --follow`."""

import os


def has_come(directory, identifier, ending):
    """Whether a content is there, which farport names AGENT_KIND_ID with its ending."""
    return any(name.endswith(f"_{identifier}{ending}") for name in os.listdir(directory))
