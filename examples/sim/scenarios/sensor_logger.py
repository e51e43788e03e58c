"""A voltage that goes up and down; the log is printed at the end."""

import os

from pump import Pump
from world import world


def plan(example):
    values = []

    def volts():
        values.append(1000 * (len(values) % 5))
        return values[-1]

    world.volts[example.SENSOR] = volts
    lcd = world.wire(2)
    lcd.name = "LCD"
    # The next tick of the sampling timer comes when the last reading is shown.
    pump = Pump(lambda: lcd.sent.count(b"\f") >= world.happened)
    example.SAMPLES = 8
    folder = os.getenv("TMPDIR") or os.getenv("TEMP") or "/tmp"
    own = "{}/sensor_logger{}.csv".format(folder, int.from_bytes(os.urandom(6), "little"))
    example.LOG = own

    def end():
        pump.stop()
        try:
            with open(example.LOG) as file:
                for line in file:
                    world.tell("log: " + line.strip())
            if example.LOG == own:
                os.remove(own)
        except OSError:
            pass  # it could not be made

    return end
