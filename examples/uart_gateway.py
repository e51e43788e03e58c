"""Lines pass between two UARTs, both ways at once.

    UART 1 --> [receive] --requests--> [send] --> UART 2
    UART 1 <-- [send] <--answers-- [receive] <-- UART 2

A line ends with a newline; one of more than LONGEST bytes, such as
noise at a wrong baud rate, is dropped. If anything fails, both
directions end.

Wiring: TX of each side to the RX of the other, GND to GND.
"""

try:
    import asyncio
except ImportError:  # before MicroPython 1.21
    import uasyncio as asyncio
from uapycsp import BufferedChannel, Parallel, Spawn, process, run
from machine import UART

TX1, RX1, BAUD1 = 4, 5, 115200
TX2, RX2, BAUD2 = 17, 16, 9600
LONGEST = 120  # bytes of a line, without its newline
WAITING = 16  # lines each way that a slow receiver may be behind


@process
async def receive(uart, cout):
    stream = asyncio.StreamReader(uart)
    rest = b""
    while True:
        lines = (rest + (await stream.read(64) or b"")).split(b"\n")
        rest = lines.pop()[:LONGEST + 1]
        for line in lines:
            if len(line) <= LONGEST:
                await cout(line + b"\n")


@process
async def send(cin, uart, other):
    # `other` is poisoned with `cin`: no direction goes on alone.
    stream = asyncio.StreamWriter(uart, {})
    while True:
        stream.write(await cin())
        await stream.drain()


async def network():
    one = UART(1, baudrate=BAUD1, tx=TX1, rx=RX1)
    two = UART(2, baudrate=BAUD2, tx=TX2, rx=RX2)
    requests = BufferedChannel("requests", WAITING)
    answers = BufferedChannel("answers", WAITING)
    # Who waits for hardware sees no poison: run ends what is spawned.
    Spawn(receive(one, requests.write))
    Spawn(receive(two, answers.write))
    await Parallel(
        send(requests.read, two, answers.read),
        send(answers.read, one, requests.read),
    )


def main():
    run(network())


if __name__ == "__main__":
    main()
