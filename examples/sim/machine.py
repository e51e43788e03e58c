"""MicroPython's `machine`, as far as the examples use it, with the names and values of an ESP32.

What is behind the pins is in world.py.
"""

import io

from world import world


class Pin:
    IN, OUT, OPEN_DRAIN = 1, 3, 7
    PULL_DOWN, PULL_UP = 1, 2
    IRQ_RISING, IRQ_FALLING = 1, 2

    def __init__(self, id, mode=-1, pull=-1, *, value=None):
        self._line = line = world.line(id)
        line.pin = self
        self._id = id
        self._out = mode in (Pin.OUT, Pin.OPEN_DRAIN)
        if line.level is None:
            line.level = 1 if pull == Pin.PULL_UP else 0
        if value is not None:
            self.value(value)

    def value(self, x=None):
        line = self._line.used()
        if x is None:
            return line.level
        x = 1 if x else 0
        if self._out and (x != line.level or not line.log):
            line.level = x
            line.log.append((world.now, x))
            world.tell("{} {}".format(line.name, "on" if x else "off"))
        return None

    __call__ = value

    def on(self):
        self.value(1)

    def off(self):
        self.value(0)

    def irq(self, handler=None, trigger=IRQ_FALLING | IRQ_RISING):
        line = self._line.used()
        line.handler = handler
        line.trigger = trigger

    def __repr__(self):
        return "Pin({})".format(self._id)


class ADC:
    ATTN_0DB, ATTN_2_5DB, ATTN_6DB, ATTN_11DB = 0, 1, 2, 3

    def __init__(self, pin, *, atten=ATTN_0DB):
        self._id = pin._id

    def atten(self, atten):
        pass

    def read_u16(self):
        return world.volts[self._id]()

    def read(self):
        return self.read_u16() >> 4


class PWM:
    def __init__(self, dest, *, freq=5000, duty=512):
        self._line = dest._line
        self._freq = freq
        self.duty(duty)

    def freq(self, value=None):
        if value is None:
            return self._freq
        self._freq = value
        return None

    def duty(self, value=None):
        line = self._line.used()
        if value is None:
            return line.duty
        if not 0 <= value <= 1023:
            raise ValueError("duty must be between 0 and 1023")
        if value != line.duty:
            line.duty = value
            line.log.append((world.now, value))
            world.tell("{} {} %".format(line.name, value * 100 // 1023))
        return None

    def deinit(self):
        self._line.duty = None


class UART(io.IOBase):
    def __init__(self, id, baudrate=9600, bits=8, parity=None, stop=1, *, tx=-1, rx=-1):
        self._wire = world.wire(id)

    def _checked(self):
        if self._wire.fault is not None:
            raise self._wire.fault
        return self._wire

    def any(self):
        return len(self._checked().waiting)

    def read(self, nbytes=-1):
        wire = self._checked()
        n = len(wire.waiting) if nbytes is None or nbytes < 0 else nbytes
        data, wire.waiting = wire.waiting[:n], wire.waiting[n:]
        return data or None

    def readline(self):
        return self.read(self._wire.waiting.find(b"\n") + 1 or -1)

    def write(self, buf):
        wire = self._checked()
        if wire.unable is not None:
            raise wire.unable
        data = buf.encode() if isinstance(buf, str) else bytes(buf)
        wire.sent += data
        world.tell("{} {}".format(wire.name, repr(data)[1:]))
        return len(data)

    def ioctl(self, req, arg):
        if req != 3:  # all but MP_STREAM_POLL
            return -1
        readable = self._wire.waiting or self._wire.fault is not None
        return arg & (1 if readable else 0) | arg & 4

    def deinit(self):
        pass


class RTC:
    """A clock that showed 12:00:00 when the program started."""

    def datetime(self):
        s = 12 * 3600 + world.now // 1000
        return 2026, 1, 1 + s // 86400, 3, s // 3600 % 24, s // 60 % 60, s % 60, 0


class Timer:
    ONE_SHOT, PERIODIC = 0, 1

    def __init__(self, id):
        self._period = self._callback = None
        self._on = False
        self._due = self._fire  # made once: it is what deinit looks for

    def init(self, *, mode=PERIODIC, period=-1, callback=None):
        self.deinit()
        self._period = period if mode == Timer.PERIODIC else None
        self._callback = callback
        self._on = True
        world.timers += 1
        world.at(world.now + period, self._due)

    def _fire(self):
        period = self._period
        if period:  # else it is a ONE_SHOT, or another thread has ended it
            world.at(world.now + period, self._due)
        else:
            self.deinit()
        self._callback(self)

    def deinit(self):
        self._period = None
        if self._on:
            self._on = False
            world.timers -= 1
            world.forget(self._due)
