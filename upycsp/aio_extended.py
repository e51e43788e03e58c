"""upycsp's extended rendezvous for bodies with async and await."""

from upycsp import extended
from upycsp.aio import NOTHING, coroutine


class Extended(extended.Extended):
    """As upycsp's, with a block that is entered by `async with`."""

    @coroutine
    def __aenter__(self):
        return self.__enter__()
        yield

    def __aexit__(self, exc_type, exc, traceback):
        self.__exit__(exc_type, exc, traceback)
        return NOTHING
