"""Selections in which some guards do not take part: `alt.select(ready=[True, False, ...])`.

For one selection the alternative gets offers among which HIDDEN stands for the guards left out: it
is never ready, and what is posted there goes nowhere. The old ones come back as a guard of the
library's that is "enabled" first: every way out of a selection, chosen or not, disables what was
enabled, if `_own` is not 0. So `_own` is 1 then, if it was 0.
"""

from cspcore.channel import READ, WAITING


class _Hidden:
    # Offer and channel in one.
    op = READ
    alt = _readers = _writers = None
    external = False
    isr = 0

    def __init__(self):
        self.channel = self
        self.value = WAITING

    def post(self, offer):
        pass

    withdraw = post


HIDDEN = _Hidden()


class _Whole:
    # What the alternative is without the mask.
    def __init__(self, alt):
        self.offers = alt._offers
        self.inputs = alt._inputs
        self.own = alt._own

    def disable(self, alt):
        alt._offers = self.offers
        alt._inputs = self.inputs
        alt._own = self.own


def mask(alt, ready):
    """Leave out of the next selection the guards whose value in ready is false."""
    if not isinstance(ready, (list, tuple)):
        raise TypeError("ready is a list or tuple of truth values")
    if len(ready) != len(alt.guards):
        raise ValueError("ready has one value for each guard")
    offers = alt._offers[:]
    hidden = 0
    for i in range(len(offers)):
        if not ready[i]:
            hidden += 1
            offers[i] = HIDDEN
    if hidden == len(offers):
        raise ValueError("at least one guard must be ready")
    if hidden:
        # Nothing of it changes before the last that may need memory.
        alt._enabled.append(_Whole(alt))
        alt._offers = offers
        alt._inputs = None
        alt._own = alt._own or 1
