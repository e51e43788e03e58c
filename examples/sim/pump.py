"""What makes things happen to programs of threads, whose waiting nobody sees."""

import _thread
import time

from world import world


class Pump:
    """A thread that makes the events happen one by one, for programs of threads.

    `ready()` says whether the program has dealt with the last one; what takes longer than PATIENCE
    is not waited for.
    """

    PATIENCE = 500  # looks of 1 ms

    def __init__(self, ready):
        self._ready = ready
        self._goes_on = True
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        _thread.start_new_thread(self._run, ())

    def _run(self):
        looks = 0
        while self._goes_on:
            looks += 1
            if world.next_ms() is not None and (self._ready() or looks > self.PATIENCE):
                world.happen()
                looks = 0
            else:
                time.sleep(0.001)
        self._ended.release()

    def stop(self):
        """Returns when no more events come."""
        self._goes_on = False
        self._ended.acquire()
