"""The invariants of channels, as cspcore.channel and cspcore.buffered state them, checked."""

from cspcore.channel import DEAD, DRAINED, GIVEN, MARKER, READ, TAKEN, WAITING, WRITE


def _check(holds, text):
    # No assert: -O3 leaves those out.
    if not holds:
        raise AssertionError(text)


def verify(channel):
    """Raise AssertionError where the channel's invariants do not hold."""
    for queue, ops in (channel._readers, (READ,)), (channel._writers, (WRITE, GIVEN)):
        _verify_queue(channel, queue, ops)
    r = channel._readers
    w = channel._writers
    if w is DEAD or w is DRAINED or (w is not None and _last(w) is DRAINED):
        _check(r is DEAD, "a closed channel lets writers in")
    elif r is DEAD:
        _check(False, "a channel without writers is not marked as closed")
    if r is not None and w is not None and r is not DEAD:
        alt = r.alt
        _check(alt is not None, "a reader and a writer wait for each other")
        for queue in r, w:
            for o in _each(queue):
                _check(o.alt is alt, "a reader and a writer wait for each other")


def verify_buffered(channel):
    """As verify, for a buffered channel."""
    _verify_queue(channel, channel._read_queue, (READ,))
    _verify_queue(channel, channel._write_queue, (WRITE, GIVEN))
    r = channel._readers
    w = channel._writers
    channel._refresh()
    _check(r is channel._readers and w is channel._writers, "can't tell whether it can proceed")
    _check(channel.capacity is None or channel._count <= channel.capacity, "a buffer too full")
    if channel._read_queue is not None and w is not None:
        alt = channel._read_queue.alt
        readable = alt is None or channel._count or channel._write_queue is None
        _check(not readable, "a reader waits though there is something to read")
        for o in _each(channel._write_queue):
            _check(o.alt is alt, "a reader waits though there is something to read")
    for o in _each(channel._write_queue):
        _check(o.op == GIVEN or channel._count == channel.capacity, "a writer waits beside room")
    if w is DEAD:
        _check(r is DEAD and not channel._count, "a poisoned channel keeps values")


def _real(channel):
    # The channel itself, where an offer has come through a cspcore.life.Share of it.
    return channel.real if hasattr(channel, "real") else channel


def _each(offer):
    while offer is not None and offer.op != MARKER:
        yield offer
        offer = offer.next


def _last(offer):
    while offer.next is not None:
        offer = offer.next
    return offer


def _verify_queue(channel, head, ops):
    last = None
    for o in _each(head):
        _check(o.op in ops, "an offer stands in the wrong queue")
        _check(o.op == GIVEN or _real(o.channel) is channel, "an offer of another channel")
        _check(last is None or o.prev is last, "a queue is not linked backwards")
        given_first = last is None or o.op != GIVEN or last.op == GIVEN
        _check(given_first, "a value given back stands after a writer")
        _check(o.op != READ or o.value is WAITING, "a reader waits though it has a value")
        _check(o.op == READ or o.value is not TAKEN, "a writer waits though its value was taken")
        given = last is not None and o.op == GIVEN and last.op == GIVEN
        in_order = not given or o.seq - last.seq & 0x3FFFFFFF < 0x20000000
        _check(in_order, "values given back stand in a wrong order")
        decided = o.alt is not None and not getattr(o.alt, "waits", True)
        _check(not decided, "an offer of a decided alternative")
        last = o
    known = last is None or last is head or head.prev is last
    _check(known, "a queue's head does not know its last")
