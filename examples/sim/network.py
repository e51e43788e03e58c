"""MicroPython's `network`, as far as the examples use it. The sockets are the desktop's own."""

from world import world

STA_IF, AP_IF = 0, 1


class WLAN:
    def __init__(self, interface_id):
        self._active = False
        self._wanted = False

    def active(self, is_active=None):
        if is_active is None:
            return self._active
        self._active = bool(is_active)
        return None

    def connect(self, ssid=None, key=None):
        if not self._active:
            raise OSError("Wifi Not Started")
        world.tell("WiFi: connect to {}".format(ssid))
        self._wanted = True

    def disconnect(self):
        self._wanted = False

    def isconnected(self):
        return self._wanted and world.wifi
