"""An exception between any two statements of small networks: all end, and it comes out (rule 5).

Each network of fault_networks runs again and again; the k-th of the points between the statements
of its processes raises, for every k, until it has fewer points than that. Afterwards nothing is
left of it, and the channels that were not poisoned can be used.
"""

import _thread

import csp

import fault_networks as networks
import fault_residue as residue
from rules_support import LIB, skip

if LIB == "uapycsp":
    from ufuture import CancelledError

TIME_LIMIT = 120

# Here one that dies holds a channel, not an end, so that the others have to be found waiting.
HELD = ("poison", "close")
# Here an exception passes through several Parallels: another may be sooner.
NESTED = (
    "nested", "sequences", "close", "spawned", "ends_of_processes", "unawaited", "cancellation"
)


class Broken(ValueError):
    pass


class Points:
    """Raises at the k-th point, and at all that follow if it is a storm."""

    def __init__(self, k, make, storm=False):
        self.left = k
        self.make = make
        self.storm = storm
        self.raised = []
        self.lock = _thread.allocate_lock()

    def __call__(self):
        with self.lock:
            self.left -= 1
            if self.left > 0 or self.left < 0 and not self.storm:
                return
            error = self.make()
            self.raised.append(error)
        raise error


def attempt(network, points):
    """Runs a network; (what run raised or None, whether a point raised)."""
    log = networks.Log()
    processes, channels, wanted, order = network(log)
    networks.at[0] = points
    error = None
    try:
        csp.run(*processes)
    except BaseException as er:
        error = er
    networks.at[0] = None
    residue.settle()
    got = log.items()
    if points.raised:
        assert networks.honest(got, wanted), (network, got)
    else:
        assert error is None and networks.right(got, wanted, order), (network, got, error)
    residue.check(channels)
    return error, bool(points.raised)


def sweep(make, allowed, storm=False, left_out=(), step=1):
    total = 0
    for network in networks.ALL:
        if network.__name__ in left_out:
            continue
        k = 1
        while True:
            points = Points(k, make, storm)
            error, raised = attempt(network, points)
            if not raised:
                break
            assert allowed(network.__name__, error, points.raised), (network, k, repr(error))
            k += step
            total += 1
        assert k > 2, network
    return total


def is_the_one(name, error, raised):
    return error is raised[0]


def is_one_of_them(name, error, raised):
    if LIB == "uapycsp" and name not in NESTED:
        return error is raised[0]
    return error in raised


def test_an_exception_at_any_statement_comes_out_of_run():
    assert sweep(Broken, is_the_one) > 100


def test_of_exceptions_at_all_statements_from_one_on_the_first_comes_out():
    assert sweep(Broken, is_one_of_them, storm=True) > 100


def test_poison_at_any_statement_ends_all_and_does_not_come_out():
    assert sweep(csp.PoisonException, lambda name, error, raised: error is None, False, HELD) > 80


def test_an_interrupt_at_any_statement_comes_out_of_run():
    assert sweep(KeyboardInterrupt, is_the_one, step=3) > 30


def test_an_exit_at_any_statement_comes_out_of_run():
    assert sweep(SystemExit, is_the_one, step=5) > 20


def test_a_cancellation_at_any_statement_comes_out_of_run_unless_it_is_caught():
    if LIB != "uapycsp":
        skip("uapycsp alone has cancellation")

    def allowed(name, error, raised):
        if error is None:
            return name == "cancellation"
        return isinstance(error, CancelledError)  # CPython makes another one of it

    assert sweep(CancelledError, allowed) > 100
