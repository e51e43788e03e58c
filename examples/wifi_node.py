"""Readings go to a server, however often it or the WiFi is away.

    SENSOR --> [sample] --readings--> [publish] <--TCP--> server
                         (buffered)

A reading is a line "number value", sent until the server answers by
its number; if an answer is lost it comes again, with that number. The
pause after a failure doubles, from FIRST_MS up to MOST_MS. What
is in the buffer is sent, also after the last reading was taken; only
Ctrl-C or a reset loses it. While the buffer is full new readings are
dropped, and the numbers have a gap.

Wiring: a sensor of 0 to 3.3 V at SENSOR.
"""

import gc

try:
    import asyncio
except ImportError:  # before MicroPython 1.21
    import uasyncio as asyncio
from uapycsp import Alternative, BufferedChannel, Skip, Timer
from uapycsp import process, run
from ufuture import TimeoutError, wait_for_ms
from machine import ADC, Pin
from network import STA_IF, WLAN

SSID, KEY = "name", "password"
HOST, PORT = "192.168.1.10", 7000
SENSOR = 34
PERIOD_MS = 1000
READINGS = 600  # then all ends
KEPT = 32  # readings in the buffer
ANSWER_MS = 5000
FIRST_MS, MOST_MS = 1000, 60000


@process
async def sample(cout):
    adc = ADC(Pin(SENSOR))
    adc.atten(ADC.ATTN_11DB)
    period = Alternative(Timer(ms=PERIOD_MS))
    for n in range(READINGS):
        await period.select()
        put = cout.alt_pending_write((n, adc.read_u16()))
        await Alternative(put, Skip()).select()  # full: dropped
    cout.poison()  # what is buffered can still be read


class Link:
    def __init__(self):
        self.reader = self.writer = None
        self.wlan = WLAN(STA_IF)
        self.wlan.active(True)
        if not self.wlan.isconnected():
            self.wlan.connect(SSID, KEY)  # and again when it is lost

    async def send(self, n, value):
        if not self.wlan.isconnected():
            raise OSError("no WiFi")
        if self.writer is None:
            link = await asyncio.open_connection(HOST, PORT)
            self.reader, self.writer = link
        self.writer.write("{} {}\n".format(n, value).encode())
        await self.writer.drain()
        answer = await self.reader.readline()
        if answer != "{}\n".format(n).encode():
            raise OSError("answered by {}".format(answer))

    async def close(self):
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.close()
            try:
                await writer.wait_closed()
            except OSError:
                pass
        gc.collect()  # closes a socket that did not connect in time


@process
async def publish(cin):
    link = Link()
    try:
        async for n, value in cin:
            pause = FIRST_MS
            while True:
                try:
                    await wait_for_ms(link.send(n, value), ANSWER_MS)
                    break
                except (OSError, TimeoutError) as error:
                    print("reading", n, "waits:", error)
                await link.close()
                await Alternative(Timer(ms=pause)).select()
                pause = min(2 * pause, MOST_MS)
    finally:
        await link.close()


def main():
    readings = BufferedChannel("readings", KEPT)
    run(sample(readings.write), publish(readings.read))


if __name__ == "__main__":
    main()
