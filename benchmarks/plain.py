"""The same process bodies for plain calls: for upycsp and for the thesis's threads.

Each pattern has its drawing in the file of its benchmark; apart from async and await the bodies
are equal. Those of prodcons and latency are in files of their own, and none is loaded but where
plain calls are measured, to spare a board's heap.
"""


def commstime_deltas(csp):
    """The deltas of CommsTime by name."""
    process = csp.process
    Parallel = csp.Parallel

    @process
    def seq_delta(cin, cout0, cout1):
        while True:
            v = cin()
            cout0(v)
            cout1(v)

    @process
    def par_delta(cin, cout0, cout1):
        while True:
            v = cin()
            Parallel(cout0.alt_pending_write(v), cout1.alt_pending_write(v)).run()

    @process
    def writer(cout, v):
        cout(v)

    @process
    def par_proc_delta(cin, cout0, cout1):
        while True:
            v = cin()
            Parallel(writer(cout0, v), writer(cout1, v)).run()

    return {"seq": seq_delta, "par": par_delta, "par-proc": par_proc_delta}


def commstime(csp):
    """The other processes of CommsTime."""
    process = csp.process

    @process
    def prefix(cin, cout):
        cout(0)
        while True:
            cout(cin())

    @process
    def successor(cin, cout):
        while True:
            cout(cin() + 1)

    @process
    def consumer(cin, channels, n, meter):
        first = cin() + 1
        if meter.warming:
            for value in range(first, first + n):
                meter.fault(cin() != value)
            value = first + n
            while meter.slicing(200, 4):
                meter.fault(cin() != value)
                value += 1
        else:
            meter.start()
            for value in range(first, first + n):
                if cin() != value:
                    meter.fault()
            meter.stop(4 * n)
        for ch in channels:
            ch.poison()

    return prefix, successor, consumer


def stressed_alt(csp):
    """The writer and the reader of the stressed alternatives."""
    process = csp.process
    PoisonException = csp.PoisonException

    @process
    def writer(cout, ready):
        value = total = 0
        try:
            ready(0)
            while True:
                cout(value)
                total += value
                value += 1
        except PoisonException:
            return value, total

    @process
    def reader(alt, ready, writers, channels, form, n, meter):
        count = total = 0
        for _ in range(writers):
            ready()
        for _ in range(n // 10):
            g, v = alt.select()
            total += v
            count += 1
        while meter.slicing(min(n, 1000), 1):
            g, v = alt.select()
            total += v
            count += 1
        while meter.next():
            meter.start()
            if form == "with":
                for _ in range(n):
                    with alt as (g, v):
                        total += v
            elif form == "fair":
                for _ in range(n):
                    g, v = alt.fair_select()
                    total += v
            else:
                for _ in range(n):
                    g, v = alt.select()
                    total += v
            meter.stop(n)
            count += n
        for ch in channels:
            ch.poison()
        return count, total

    return writer, reader


def waiting_queue(csp):
    """The processes of the waiting queue; what a waiter waits on is a channel."""
    process = csp.process

    @process
    def waits_on_channel(number, cin, wakers, ready):
        ready(0)
        return cin() == number

    @process
    def first(cin, cout, ready, wakers, n, meter):
        for _ in wakers:
            ready()
        value = 0
        for value in range(0, n // 10, 2):
            cout(value)
            meter.fault(cin() != value + 1)
        while meter.slicing(100, 2):
            cout(value)
            meter.fault(cin() != value + 1)
        while meter.next():
            meter.start()
            for value in range(0, n, 2):
                cout(value)
                if cin() != value + 1:
                    meter.fault()
            meter.stop(n)
        for number in range(len(wakers)):
            wakers[number](number)
        cout.poison()

    @process
    def second(cin, cout):
        while True:
            cout(cin() + 1)

    return waits_on_channel, first, second


def spawn(csp):
    """The processes that measure spawn, by form."""
    process = csp.process
    Parallel = csp.Parallel
    Spawn = getattr(csp, "Spawn", None)

    @process
    def echo(value):
        return value

    @process
    def parallel(at_once, n, meter):
        numbers = list(range(at_once))
        for _ in range(n // 10):
            meter.fault(Parallel(*[echo(i) for i in numbers]).run().retval != numbers)
        while meter.slicing(50, at_once):
            meter.fault(Parallel(*[echo(i) for i in numbers]).run().retval != numbers)
        while meter.next():
            meter.start()
            for _ in range(n):
                if Parallel(*[echo(i) for i in numbers]).run().retval != numbers:
                    meter.fault()
            meter.stop(n * at_once)

    @process
    def spawn(at_once, n, meter):
        numbers = list(range(at_once))
        for _ in range(n // 10):
            handles = [Spawn(echo(i)) for i in numbers]
            for i in numbers:
                meter.fault(handles[i].join() != i)
        while meter.slicing(50, at_once):
            handles = [Spawn(echo(i)) for i in numbers]
            for i in numbers:
                meter.fault(handles[i].join() != i)
        while meter.next():
            meter.start()
            for _ in range(n):
                handles = [Spawn(echo(i)) for i in numbers]
                for i in numbers:
                    if handles[i].join() != i:
                        meter.fault()
            meter.stop(n * at_once)

    return {"parallel": parallel, "spawn": spawn}
