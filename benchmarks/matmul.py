"""Matmul: a product of two square matrices, its rows dealt to several workers.

               +--> worker --+
    dealer ----+--> worker --+---> dealer
        rows   +--> ...    --+  products

The dealer gives each worker a row of the left matrix; whoever sends a row of the product back gets
the next one. The right matrix is everybody's, as columns. us per product; so twice as many workers
take half of it where they run at once.

Elements are stored in arrays of "i" or "d", so that three matrices of 200 x 200 fit a heap of
2 MB: one takes 160 or 320 KB, where a list of lists takes 320 KB, with floats 1.6 MB, and the
collector looks at each element. Integers here are small ones, for which nothing is allocated. A
float is allocated each time that one is taken from its array, multiplied or added, under the one
lock that the heap has: on two processors two workers take half of one's time with integers, and
about twice of it with floats. bytes_per_op is what computing alone allocates.

The rows of no-library compute the same in one process without CSP. Every product is checked by the
sum of its elements, each times the numbers of its row and column, which can be had without the
product too.
"""

from array import array

from benchmarks import libs, plain_workers
from benchmarks.harness import Meter, Table

_TYPECODES = {"int": "i", "float": "d"}


def bodies(csp):
    """The worker and the dealer."""
    process = csp.process

    @process
    async def worker(cin, cout, times_columns):
        while True:
            i, row = await cin()
            await cout((i, times_columns(row)))

    @process
    async def dealer(cout, cin, rows, workers, is_right, channels, meter):
        async def product(size):
            found = [None] * size
            dealt = 0
            while dealt < min(workers, size):
                await cout((dealt, rows[dealt]))
                dealt += 1
            for _ in range(size):
                i, row = await cin()
                found[i] = row
                if dealt < size:
                    await cout((dealt, rows[dealt]))
                    dealt += 1
            return found

        meter.fault(not is_right(await product((len(rows) + 9) // 10)))
        while meter.next():
            meter.start()
            found = await product(len(rows))
            meter.stop(1)
            meter.fault(not is_right(found))
            found = None    # the next one needs its place
        for ch in channels:
            ch.poison()

    return worker, dealer


def element(row, column):
    """The inner product."""
    total = 0
    for k in range(len(row)):
        total += row[k] * column[k]
    return total


def row_times(row, columns):
    """A row of the product of square matrices."""
    found = row[:]      # as long, and of the same type
    for j in range(len(columns)):
        found[j] = element(row, columns[j])
    return found


class Problem:
    """Two matrices of a size and a kind of element, int or float: rows, and columns."""

    def __init__(self, size, kind):
        code = _TYPECODES[kind]
        numbers = range(size)
        self.rows = [array(code, [(7 * i + 3 * k) % 10 for k in numbers]) for i in numbers]
        self.columns = [array(code, [(5 * k + 11 * j + k * j) % 10 for k in numbers])
                        for j in numbers]

    def clear(self):
        # What the stack of an idle thread still points at would otherwise keep the matrices.
        self.rows.clear()
        self.columns.clear()

    def times_columns(self, row):
        return row_times(row, self.columns)

    def _sum_of_product(self, size):
        # Each row times its number, added up, times each column times its number, added up.
        total = 0
        for k in range(len(self.rows)):
            total += (sum([(i + 1) * int(self.rows[i][k]) for i in range(size)])
                      * sum([(j + 1) * int(self.columns[j][k])
                             for j in range(len(self.columns))]))
        return total

    def is_right(self, found):
        """Whether these are the first rows of the product."""
        total = 0
        for i in range(len(found)):
            row = found[i]
            if row is None:     # one came twice instead
                return False
            total += (i + 1) * sum([(j + 1) * int(row[j]) for j in range(len(row))])
        return total == self._sum_of_product(len(found))


def _meter(lib, api, kind, workers, problem, runs):
    meter = Meter("matmul {} {} {} {}".format(lib, api or "", kind, workers), runs)
    part = 1 / (len(problem.rows) * len(problem.rows))
    # A whole product of floats does not fit the heap while nothing is collected.
    while meter.slicing(50, part):
        element(problem.rows[0], problem.columns[0])
    return meter


def _load(lib, api, sizes):
    # The library and the processes; all is loaded that will be needed.
    csp = libs.load(lib, api, sizes["thesis_queue"])
    worker, dealer = (plain_workers.matmul if libs.is_plain(lib, api) else bodies)(csp)
    return csp.Channel, csp.run, worker, dealer


def _row(table, lib, api, kind, workers, problem, sizes):
    Channel, run, worker, dealer = _load(lib, api, sizes)
    meter = _meter(lib, api, kind, workers, problem, sizes["runs"])
    rows = Channel("rows")
    products = Channel("products")
    run(dealer(rows.write, products.read, problem.rows, workers, problem.is_right,
               (rows, products), meter),
        *[worker(rows.read, products.write, problem.times_columns) for _ in range(workers)])
    table.row(lib, kind, sizes["size"], meter, api, ("workers", workers),
              (libs.NO_LIBRARY, kind, ("workers", 1)))


def _no_library_row(table, kind, problem, sizes):
    meter = _meter(libs.NO_LIBRARY, None, kind, 1, problem, sizes["runs"])
    while meter.next():
        meter.start()
        found = [row_times(row, problem.columns) for row in problem.rows]
        meter.stop(1)
        meter.fault(not problem.is_right(found))
        found = None        # the next one needs its place
    table.row(libs.NO_LIBRARY, kind, sizes["size"], meter, None, ("workers", 1))


def main(chosen, apis, sizes):
    """Prints a row for each element, library and number of workers; raises WrongResult."""
    table = Table("matmul", "us per product of {0} x {0}, runs={1}".format(
        sizes["size"], sizes["runs"]), "against no library")
    for lib, api in libs.each(chosen, apis):
        _load(lib, api, sizes)      # before the matrices leave a board's heap in small pieces
    for kind in sizes["element"]:
        problem = Problem(sizes["size"], kind)
        if sizes["baselines"]:
            _no_library_row(table, kind, problem, sizes)
        for lib, api in libs.each(chosen, apis):
            for workers in sizes["workers"]:
                _row(table, lib, api, kind, workers, problem, sizes)
        problem.clear()
