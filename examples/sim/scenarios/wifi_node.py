"""The WiFi is away at first, and the server fails in every way it can."""

import os
import socket

from world import world


class Server:
    """Answers each line by its first word, and keeps those whose number is new.

    How it behaves: "away" refuses connections, "mute" never answers, "cut" closes each connection
    after it has read a line, "well".
    """

    def __init__(self, behaviour):
        self.kept = []  # (number, value)
        self.port = 0
        self._behaviour = "away"
        self._connection = None
        self._rest = b""
        while not self.port:
            self._listener = socket.socket()
            try:
                self._bind(20000 + int.from_bytes(os.urandom(2), "little") % 10000)
            except OSError:  # somebody else has it
                self._listener.close()
        if behaviour != "away":
            self.behave(behaviour)

    def _bind(self, port):
        self._listener.bind(socket.getaddrinfo("127.0.0.1", port)[0][-1])
        self.port = port

    def behave(self, behaviour):
        """Go on in this way; not back to "away"."""
        world.tell("server: " + behaviour)
        if self._behaviour == "away" and behaviour != "away":
            self._listener.listen(1)
            self._listener.setblocking(False)
        self._behaviour = behaviour

    def serve(self):
        """Does what there is to do; true if there was something."""
        if self._behaviour == "away":
            return False
        try:
            connection = self._listener.accept()[0]
        except OSError:  # nobody comes
            return self._connection is not None and self._receive()
        connection.setblocking(False)
        self._close()
        self._connection = connection
        return True

    def _receive(self):
        try:
            data = self._connection.recv(100)
        except OSError:  # nothing comes
            return False
        if not data:
            self._close()
            return True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)
        return True

    def _line(self, line):
        number, value = [int(word) for word in line.split()]
        again = bool(self.kept) and number <= self.kept[-1][0]
        if self._behaviour != "mute":
            world.tell("server: {} {}{}".format(number, value, " again" if again else ""))
            if not again:
                self.kept.append((number, value))
        if self._behaviour == "cut":
            self._close()
        elif self._behaviour == "well":
            self._connection.send("{}\n".format(number).encode())

    def _close(self):
        self._rest = b""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self):
        self._close()
        self._listener.close()


def plan(example):
    count = []

    def volts():
        count.append(None)
        return 1000 + len(count)

    world.volts[example.SENSOR] = volts
    server = Server("away")
    world.servers.append(server)
    example.HOST, example.PORT = "127.0.0.1", server.port
    example.READINGS = 40
    example.KEPT = 8
    world.wifi = False
    world.at(2500, _wifi, True)
    world.at(6500, server.behave, "well")
    world.at(12500, server.behave, "cut")
    world.at(15500, server.behave, "mute")
    world.at(30500, server.behave, "well")
    world.server = server
    return server.close


def _wifi(there):
    world.tell("WiFi is {}".format("there" if there else "away"))
    world.wifi = there
