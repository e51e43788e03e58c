"""The process bodies of prodcons for plain calls: see benchmarks.plain."""


def bodies(csp):
    """The director, the producer and the consumer."""
    process = csp.process

    @process
    def producer(go, cout, first, step):
        while True:
            for value in range(first, go(), step):
                cout(value)

    @process
    def consumer(go, cin, done, marks, among, meter):
        while True:
            share = go() // among
            try:
                for i in range(share):
                    marks[cin()] += 1
            except (IndexError, TypeError, ValueError):
                meter.fault()
                for _ in range(i + 1, share):
                    cin()
            done(0)

    @process
    def director(starts, done, consumers, channels, ledger, sizes, meter):
        warm, part, n = sizes

        def exchange(total):
            for start in starts:
                start(total)
            for _ in range(consumers):
                done()

        exchange(warm)
        ledger.close(warm, meter)
        while meter.slicing(10, part):
            exchange(part)
            ledger.close(part, meter)
        while meter.next():
            meter.start()
            exchange(n)
            meter.stop(n)
            ledger.close(n, meter)
        for ch in channels:
            ch.poison()

    return director, producer, consumer
