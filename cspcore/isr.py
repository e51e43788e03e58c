"""What interrupt handlers leave for others."""


class Ring:
    """Values from one interrupt handler for one reader, first in, first out.

    `put` takes no memory and no lock, and never waits: hard handlers may call it. One slot is
    always free; `_in` is stored by the handler alone and after the value, `_out` by the reader
    alone and after it has taken the value. So neither sees a slot that the other is about to use.
    """

    def __init__(self, size):
        self._slots = [None] * (size + 1)
        self._in = self._out = 0
        self.lost = 0  # how many values found no room

    def put(self, value):
        """Leave a value; whether there was room."""
        i = self._in
        after = i + 1
        if after == len(self._slots):
            after = 0
        if after == self._out:
            self.lost += 1
            return False
        self._slots[i] = value
        self._in = after
        return True

    # What the reader calls

    def is_empty(self):
        """Whether nothing is left."""
        return self._in == self._out

    def count(self):
        """How many values are left."""
        n = self._in - self._out
        return n if n >= 0 else n + len(self._slots)

    def first(self):
        """The oldest value; there must be one."""
        return self._slots[self._out]

    def drop(self):
        """Let go of the oldest value."""
        i = self._out
        self._slots[i] = None
        i += 1
        self._out = 0 if i == len(self._slots) else i

    def take(self):
        """The oldest value, which is let go of."""
        value = self.first()
        self.drop()
        return value

    def clear(self):
        """Let go of all that is left."""
        while not self.is_empty():
            self.drop()
