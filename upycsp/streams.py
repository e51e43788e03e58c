"""Blocking streams and sockets, read and written by threads that can be ended: for the adapters.

A thread in a read can't be woken. So where `select` can tell that there is something, it is asked
for a slice of time, after which one looks whether it is still wanted; then what is there is read,
which does not wait. What select can't judge is read as it is.
"""

from upycsp import Closed
from uthreading import kept

try:
    import select
except ImportError:
    select = None  # then no stream can be polled
try:
    import socket
except ImportError:
    socket = None  # then there is no server

_SLICE_MS = 20
_PIECE = 256  # so many bytes are read at a time, if they are there
_AGAIN = (11, 35, 10035)  # EAGAIN of various systems
_NEWLINE = 10


def check(stream):
    """TypeError for what belongs to asyncio."""
    if hasattr(stream, "readexactly") or hasattr(stream, "drain"):
        raise TypeError("threads take no streams of asyncio")


def end_of(cout):
    """What tells whether the channel of a write end has ended."""
    end = Closed(cout).channel()
    return lambda: end._writers is not None


class Console:
    """Makes newlines of the returns, with or without a newline, that a terminal hands on."""

    _last = b""  # that any of them has read: the newline of its return may come after its end

    def __call__(self, data):
        last = Console._last
        Console._last = data[-1:]
        if last == b"\r" and data[:1] == b"\n":
            data = data[1:]
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def copy_from(stream, cout, write, n, change=None):
    """Write lines, or with n what there is, until the stream or the channel ends; poison that.

    change: makes of what is read what is split into lines.
    """
    if n is not None and n < 1:
        raise ValueError("n is at least 1")
    has_ended = end_of(cout)
    check(stream)
    try:
        for data in _pieces(stream, n, has_ended, change):
            write(data)
    except OSError:
        pass
    cout.poison()


def _pieces(stream, n, has_ended, change):
    # Lines, or with n what there is: until the stream ends, or has_ended().
    ready = None if _is_file(stream) else _poller(stream)
    if ready is not None:
        read = _reader(stream, ready)
    elif n is not None:
        read = stream.read
    else:

        def read(_):
            return stream.readline()

    line = b""
    while not has_ended():
        if ready is not None and not ready(_SLICE_MS):
            continue
        data = _tried(read, n or _PIECE)
        if data is None:
            kept.sleep_ms(_SLICE_MS)
        elif not data:
            if line:
                yield line
            return
        elif n is not None:
            yield data
        else:
            if change is not None:
                data = change(data)
            at = 0
            while True:
                after = data.find(b"\n", at) + 1
                if not after:
                    break
                yield line + data[at:after]
                line = b""
                at = after
            line += data[at:]


def _is_file(stream):
    # A file is there as a whole, and can seek; nothing else can that is read from without end.
    try:
        stream.seek(0, 1)
    except (AttributeError, OSError, TypeError):
        return False
    return True


def _poller(stream):
    # What tells whether there is something to read, within so many ms. None: nobody can tell.
    try:
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        look = getattr(poll, "ipoll", poll.poll)  # ipoll makes no list
        for _ in look(0):
            pass
    except (AttributeError, OSError, TypeError, ValueError):
        return None
    pending = getattr(stream, "pending", None)  # CPython's TLS has read it already

    def ready(ms):
        if pending is not None and pending():
            return True
        for _ in look(ms):
            return True
        return False

    return ready


def _reader(stream, ready):
    # What reads at most n bytes of those that are there; there are some.
    read = getattr(stream, "recv", None) or getattr(stream, "read1", None)
    if read is not None:
        return read
    read = stream.read  # of most streams it waits for all n
    count = getattr(stream, "any", None)
    if count is not None:
        return lambda n: read(min(count() or 1, n))

    def singly(n):
        data = read(1)
        while data and len(data) < n and data[-1] != _NEWLINE and ready(0):
            try:
                more = read(1)
            except OSError:  # if it is over, the next read says so, too
                break
            if not more:
                break
            data += more
        return data

    return singly


def _tried(f, x, again=None):
    # f(x); `again` if it would have to wait.
    try:
        return f(x)
    except OSError as er:
        if er.args and er.args[0] in _AGAIN:
            return getattr(er, "characters_written", again)  # which CPython's buffers tell
        raise


def write_all(stream, data):
    """Write bytes, and wait until the stream has taken them."""
    write = getattr(stream, "write", None) or stream.send
    rest = memoryview(data)
    while rest:
        n = _tried(write, rest, 0)
        if n:
            rest = rest[n:]
        elif n is None and _poller(stream) is None:
            break  # a class of the user's, which has taken all
        else:
            kept.sleep_ms(_SLICE_MS)
    if hasattr(stream, "raw"):  # one of CPython's that keeps it
        while True:
            try:
                stream.flush()
                break
            except BlockingIOError:
                kept.sleep_ms(_SLICE_MS)


# A server


def serve(host, port, backlog, has_ended, connect):
    """Listen until has_ended(), and connect(s) whatever comes."""
    server = _listen(host, port, backlog)
    try:
        ready = _poller(server)
        server.setblocking(ready is None)  # who has connected may be gone before it is accepted
        while not has_ended():
            s = _accepted(server, ready)
            if s is not None:
                connect(s)
    finally:
        server.close()


def _listen(host, port, backlog):
    address = socket.getaddrinfo(host, port)[0]
    s = socket.socket(address[0])
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(address[-1])
        s.listen(backlog)
    except BaseException:
        s.close()
        raise
    return s


def _accepted(server, ready):
    # A connection; None: look whether the server is still wanted.
    if ready is not None and not ready(_SLICE_MS):
        return None
    try:
        s = server.accept()[0]
    except OSError:  # it is gone already, or there are too many
        kept.sleep_ms(_SLICE_MS)
        return None
    s.setblocking(True)  # some systems make it as its server is
    return s
