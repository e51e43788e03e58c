"""A barrier: tasks that wait for one another."""

from ufuture.waiter import Waiter, wake_all


class Barrier:
    """Lets tasks go on when `parties` of them have come, then the next ones, and so on."""

    def __init__(self, parties):
        if not isinstance(parties, int):
            raise TypeError("a whole number of parties is expected")
        if parties < 1:
            raise ValueError("a barrier needs at least one party")
        self.parties = parties
        self._waiting = []

    @property
    def n_waiting(self):
        """How many wait."""
        return len(self._waiting)

    async def wait(self):
        """Wait for the others; a number from 0 to parties - 1 that none of the others has.

        The last one does not wait. One that is cancelled while it waits does not count.
        """
        n = len(self._waiting)
        if n + 1 == self.parties:
            wake_all(self._waiting)
            return n
        w = Waiter(self._waiting)
        await w
        return w.index
