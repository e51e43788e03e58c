"""Numbers in the environment that say how much tests are to do."""

import os

# The least of each.
LEAST = {"NETWORKS": 1, "NETWORKS_SEED": 0, "NETWORKS_LIMIT": 1, "SCHEDULES": 1}


def number(name, default):
    """The number of that name, or the default."""
    return int(os.environ.get(name) or default)


def wrong():
    """None, or the sentence that says which is none."""
    for name, least in LEAST.items():
        text = os.environ.get(name) or str(least)
        try:
            good = int(text) >= least
        except ValueError:
            good = False
        if not good:
            return "{} takes whole numbers from {}, not {!r}".format(name, least, text)
    return None
