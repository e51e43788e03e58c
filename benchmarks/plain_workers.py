"""As `benchmarks.plain`, for the benchmarks with workers: those without them load less.

Each pattern has its drawing in the file of its benchmark; apart from async and await the bodies
are equal.
"""

from benchmarks.work import answer, is_right, question


def workers(csp):
    """The worker and the asker of the workers."""
    process = csp.process

    @process
    def worker(cin, cout, work):
        while True:
            cout(answer(cin(), work))

    @process
    def asker(couts, cins, results, channels, counts, meter):
        workers = range(len(couts))
        n = len(results) - 1

        def exchange(numbers):
            for number in numbers:
                for w in workers:
                    couts[w](question(w, number))
                for w in workers:
                    if not is_right(cins[w](), w, number, results[number]):
                        meter.fault()

        exchange(range(1, n // 10 + 1))
        number = 0
        while counts and meter.slicing(min(n, 50), len(couts)):
            number += 1
            exchange((number,))
        while meter.next():
            meter.start()
            exchange(range(1, n + 1))
            meter.stop(n * len(couts))
        for ch in channels:
            ch.poison()

    return worker, asker


def matmul(csp):
    """The worker and the dealer of the matrix product."""
    process = csp.process

    @process
    def worker(cin, cout, times_columns):
        while True:
            i, row = cin()
            cout((i, times_columns(row)))

    @process
    def dealer(cout, cin, rows, workers, is_right, channels, meter):
        def product(size):
            found = [None] * size
            dealt = 0
            while dealt < min(workers, size):
                cout((dealt, rows[dealt]))
                dealt += 1
            for _ in range(size):
                i, row = cin()
                found[i] = row
                if dealt < size:
                    cout((dealt, rows[dealt]))
                    dealt += 1
            return found

        meter.fault(not is_right(product((len(rows) + 9) // 10)))
        while meter.next():
            meter.start()
            found = product(len(rows))
            meter.stop(1)
            meter.fault(not is_right(found))
            found = None    # the next one needs its place
        for ch in channels:
            ch.poison()

    return worker, dealer
