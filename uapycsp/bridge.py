"""Channels between asyncio's tasks, threads and interrupts: see upycsp.bridge.

It loads the channels of upycsp, which `import uapycsp` alone does not.
"""

from upycsp import bridge


class Bridge(bridge.Bridge):
    """As upycsp's; `read` and `write` are the ends for tasks, as of the other channels here."""

    def __init__(self, name="", capacity=0, isr=0):
        bridge.Bridge.__init__(self, name, capacity, isr)
        self.read = self.tasks.read
        self.write = self.tasks.write
