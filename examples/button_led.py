"""An LED follows a debounced button.

    BUTTON --> [edges] --levels--> [debounce] --stable--+
                                                        |
                                 LED <-- [light] <------+

Wiring: the button between BUTTON and GND, the LED with a resistor
between LED and GND.
"""

try:
    import asyncio
except ImportError:  # before MicroPython 1.21
    import uasyncio as asyncio
from uapycsp import Alternative, Channel, Spawn, Timer, process, run
from machine import Pin

BUTTON = 0
LED = 2
STABLE_MS = 20  # how long a level must last to be believed


@process
async def edges(button, cout):
    changed = asyncio.ThreadSafeFlag()
    both = Pin.IRQ_FALLING | Pin.IRQ_RISING
    button.irq(lambda pin: changed.set(), both)
    try:
        while True:
            await cout(button.value())
            await changed.wait()
    finally:
        button.irq(None)


@process
async def debounce(cin, cout):
    quiet = Timer(ms=STABLE_MS)
    settle = Alternative(cin, quiet)
    stable = None
    while True:
        level = await cin()
        guard, newer = await settle.select()
        while guard is not quiet:
            level = newer
            guard, newer = await settle.select()
        if level != stable:
            stable = level
            await cout(level)


@process
async def light(cin, led):
    try:
        async for level in cin:
            led.value(not level)  # pressed, the button is at GND
    finally:
        led.value(0)


async def network():
    levels, stable = Channel("levels"), Channel("stable")
    # Who waits for hardware sees no poison: run ends what is spawned.
    Spawn(edges(Pin(BUTTON, Pin.IN, Pin.PULL_UP), levels.write))
    Spawn(debounce(levels.read, stable.write))
    await light(stable.read, Pin(LED, Pin.OUT, value=0))


def main():
    run(network())


if __name__ == "__main__":
    main()
