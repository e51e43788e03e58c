"""A motor follows a knob until the stop button is pressed.

    KNOB --> [knob] --duty--> [motor] --> MOTOR
                      ^
    STOP --> [stop] --+ poison

In every ending, by the button, an error or Ctrl-C, the motor is off:
who switches it on has a `finally` that switches it off.

Wiring: a potentiometer from 3V3 to GND, its tap at KNOB; the button
normally closed, from STOP to GND, so that a broken wire stops, too;
MOTOR to a driver, with 10 kOhm to GND for when no program runs. To
protect people, the button switches off the motor's supply as well.
"""

try:
    import asyncio
except ImportError:  # before MicroPython 1.21
    import uasyncio as asyncio
from uapycsp import Alternative, Channel, Spawn, Timer, process, run
from machine import ADC, PWM, Pin

KNOB = 34
STOP = 27
MOTOR = 25
PERIOD_MS = 50
SILENT_MS = 500  # the motor does not go on without commands


@process
async def knob(cout):
    adc = ADC(Pin(KNOB))
    adc.atten(ADC.ATTN_11DB)
    period = Alternative(Timer(ms=PERIOD_MS))
    while True:
        await cout(adc.read_u16() >> 6)  # to the PWM's 10 bits
        await period.select()


@process
async def stop(button, cout):
    pressed = asyncio.ThreadSafeFlag()
    button.irq(lambda pin: pressed.set(), Pin.IRQ_RISING)
    try:
        if not button.value():
            await pressed.wait()
        cout.poison()
    finally:
        button.irq(None)


@process
async def motor(cin, pwm):
    silent = Timer(ms=SILENT_MS)
    command = Alternative(cin, silent)
    try:
        while True:
            guard, duty = await command.select()
            if guard is silent:
                raise RuntimeError("the knob is silent")
            pwm.duty(duty)
    finally:
        try:
            pwm.duty(0)
        finally:
            pwm.deinit()


async def network():
    duty = Channel("duty")
    # Who waits for hardware sees no poison: run ends what is spawned.
    Spawn(stop(Pin(STOP, Pin.IN, Pin.PULL_UP), duty.write))
    Spawn(knob(duty.write))
    pwm = PWM(Pin(MOTOR), freq=1000, duty=0)  # pyright: ignore
    await motor(duty.read, pwm)


def main():
    run(network())


if __name__ == "__main__":
    main()
