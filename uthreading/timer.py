"""Timer: a function called later.

t = Timer(2.5, print, ("time is up",))
t.start()
t.cancel()      # it will not be called, unless it was
"""

from .sync import Event
from .thread import Thread


class Timer(Thread):
    """Calls function(*args, **kwargs) after `interval` seconds, in a thread of its own."""

    def __init__(self, interval, function, args=None, kwargs=None):
        super().__init__()
        self.interval = interval
        self.function = function
        self.args = () if args is None else args
        self.kwargs = {} if kwargs is None else kwargs
        self.finished = Event()

    def cancel(self):
        """Ends the timer, if it still waits."""
        self.finished.set()

    def run(self):
        """Waits and calls the function."""
        finished = self.finished
        finished.wait(self.interval)
        if not finished.is_set():  # wait's answer may be old by now
            self.function(*self.args, **self.kwargs)
        finished.set()
