"""A network with a server and a client outside of it, for exhaust.py."""

import _thread

import csp

from rules_support import connection, new_address, sleep_ms

ANSWER = b"you said "
WORDS = (b"one\n", b"two\n")

LineServer = csp.adapters.LineServer


@csp.process
async def session(cin, cout):
    try:
        async for line in cin:
            await cout(ANSWER + line)
    finally:
        cin.poison()
        cout.poison()


@csp.process
async def sessions(connections, client):
    async for cin, cout in connections:
        client.is_accepted = True
        try:
            csp.Spawn(session(cin, cout))
        except BaseException:  # nobody else has the pair
            cin.poison()
            cout.poison()
            raise


class Client:
    """A thread that knows nothing of the library."""

    def __init__(self, address, log):
        self._address = address
        self._log = log
        self.error = None
        self.ended = False
        self.is_accepted = False  # before, MicroPython's accept may lose it for want of memory
        self.gives_up = False

    def talk(self):
        s = None
        try:
            while s is None and not self.gives_up:
                s = connection(self._address)
            if s is not None:
                s.settimeout(0.1)
                for word in WORDS:
                    if not self._says(s, word):
                        # Who failed may have told that after `run`, which does not wait for it.
                        raise MemoryError("hung up")
        except BaseException as er:
            self.error = er
        finally:
            if s is not None:
                s.close()
            self.ended = True

    def _says(self, s, word):
        # False if the server has hung up. A client that is forgotten waits for ever, and its test
        # tells at which allocation.
        line = b""
        try:
            s.send(word)
        except OSError:
            return False
        while not line.endswith(b"\n"):
            try:
                piece = s.recv(1)
            except OSError as er:
                hung_up = er.args[0] == 104  # ECONNRESET
                if hung_up or self.gives_up and not self.is_accepted:
                    return False
                continue
            if not piece:
                return False
            line += piece
        self._log.add(line)
        return True


@csp.process
async def watches(client, connections):
    try:
        _thread.start_new_thread(client.talk, ())
        while not client.ended:
            client.gives_up = connections.channel().poisoned
            await sleep_ms(1)
    finally:
        client.gives_up = True
        connections.poison()
    if client.error is not None:
        raise client.error


def served(log):
    address = new_address()
    client = Client(address, log)
    ch = csp.Channel("connections")
    processes = [
        LineServer(*address, ch.write),
        sessions(ch.read, client),
        watches(client, ch.read),
    ]
    return processes, [ch], [ANSWER + word for word in WORDS], None


ALL = [served]
