"""The exceptions of both libraries; each exists once, so that code of either can catch it."""


class PoisonException(Exception):
    """The channel was poisoned, or was closed and nothing is left to read."""

    strength = None  # of the poison: None is stronger than any immunity


def strength_of(exception):
    """How strongly a process poisons its ends that ends by this exception."""
    return exception.strength if isinstance(exception, PoisonException) else None


class RetireException(PoisonException):
    """All counted readers, or writers, of the channel have retired, or this end of it has."""


class DeadlockError(RuntimeError):
    """Every process waits on a channel and nothing is left that could wake one."""


ChannelPoisonException = PoisonException  # the name in PyCSP
