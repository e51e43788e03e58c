"""Readings of a sensor are averaged, shown and logged.

    timer, SENSOR --> [sample] --raw--> [average] --means--+
                                                           |
                file <-- [log] <--shown-- [show] <---------+
                                            |
                                           LCD

Threads, because writing to the display and to the file blocks.

Wiring: a sensor of 0 to 3.3 V at SENSOR, a serial display (9600 baud)
at LCD. `mpremote rtc --set` sets the clock.
"""

from _thread import allocate_lock
from upycsp import Channel, process, run
from machine import ADC, RTC, UART, Pin, Timer

SENSOR = 34
LCD = 17
PERIOD_MS = 1000
SAMPLES = 60  # then all ends
WINDOW = 4  # how many readings are averaged
LOG = "log.csv"


@process
def sample(cout):
    adc = ADC(Pin(SENSOR))
    adc.atten(ADC.ATTN_11DB)
    rtc = RTC()
    tick = allocate_lock()
    tick.acquire()

    def wake(timer):
        if tick.locked():  # ticks that come too fast count as one
            tick.release()

    timer = Timer(0)
    timer.init(period=PERIOD_MS, mode=Timer.PERIODIC, callback=wake)
    try:
        for _ in range(SAMPLES):
            tick.acquire()
            cout((rtc.datetime(), adc.read_u16()))
    finally:
        timer.deinit()
    cout.poison()


@process
def average(cin, cout):
    last = []
    while True:
        when, value = cin()
        last = (last + [value])[-WINDOW:]
        time = "{:02}:{:02}:{:02}".format(*when[4:7])
        cout((time, sum(last) // len(last)))


@process
def show(cin, cout):
    lcd = UART(2, baudrate=9600, tx=LCD)
    while True:
        time, mean = cin()
        lcd.write("\f{} {}".format(time, mean))  # \f clears
        cout((time, mean))


@process
def log(cin):
    with open(LOG, "a") as file:
        for time, mean in cin:
            file.write("{},{}\n".format(time, mean))
            file.flush()


def main():
    raw, means = Channel("raw"), Channel("means")
    shown = Channel("shown")
    run(
        sample(raw.write),
        average(raw.read, means.write),
        show(means.read, shown.write),
        log(shown.read),
    )


if __name__ == "__main__":
    main()
