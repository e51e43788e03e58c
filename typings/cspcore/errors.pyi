class PoisonException(Exception):
    strength: int | None

class RetireException(PoisonException): ...

ChannelPoisonException = PoisonException

class DeadlockError(RuntimeError): ...
