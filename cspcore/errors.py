"""The exceptions of both libraries; each exists once, so that code of either can catch it."""


class PoisonException(Exception):
    """The channel was poisoned, or was closed and nothing is left to read."""


class DeadlockError(RuntimeError):
    """Every process waits on a channel and nothing is left that could wake one."""


ChannelPoisonException = PoisonException  # the name in PyCSP
