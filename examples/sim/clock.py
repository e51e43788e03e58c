"""Virtual time for asyncio.

The event loop asks a poller what is ready, and says how long it would wait. Here it waits for
nobody: if nothing is ready, the time goes on to the loop's next timer, or to the world's next
event if that comes first.
"""

import sys

from world import world

GRACE_MS = 2  # what the desktop's network may take from one socket of this process to another

if sys.implementation.name == "micropython":
    try:
        from asyncio import core
    except ImportError:  # before 1.21
        from uasyncio import core
    import time
    from ufuture.loop import engine

    # What asyncio's C code stamps with the real time is due at once, if virtual time is ahead.
    AHEAD_MS = 3600000
    _start = time.ticks_add(time.ticks_ms(), AHEAD_MS)

    def ticks_ms():
        return time.ticks_add(_start, world.now)

    class Poller:
        def __init__(self, poll):
            self._poll = poll
            self.register = poll.register
            self.modify = poll.modify
            self.unregister = poll.unregister

        def ipoll(self, ms):
            while True:
                ready = self._poll.poll(0)
                if ready or ms == 0:
                    return ready
                if world.servers:
                    if world.serve():
                        continue
                    ready = self._poll.poll(GRACE_MS)
                    if ready:
                        return ready
                    if world.serve():
                        continue
                world.step(None if ms < 0 else ms)
                if ms > 0:
                    return ()

    def install():
        """Gives the event loop of the next run virtual time."""
        core.ticks = engine.ticks_ms = ticks_ms
        if not isinstance(core._io_queue.poller, Poller):
            core._io_queue.poller = Poller(core._io_queue.poller)

else:
    import asyncio
    import selectors

    import cpython

    class _Selector(selectors.DefaultSelector):
        def select(self, timeout=None):
            ready = super().select(0)
            if ready or timeout is not None and timeout <= 0:
                return ready
            if world.servers:
                if world.serve():
                    return []
                ready = super().select(GRACE_MS / 1000)
                if ready or world.serve():
                    return ready
            # To the full ms: a timer's time is no more exact than that.
            world.step(None if timeout is None else int(timeout * 1000 + 0.999))
            return []

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self):
            super().__init__(_Selector())

        def time(self):
            return world.now / 1000

    def install():
        """Gives the event loop of the next run virtual time."""
        cpython.install()
        asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
