"""Reports what escapes from a thread, through the settable `uthreading.excepthook`."""

import sys
from _thread import allocate_lock, get_ident

import uthreading

try:
    from collections import namedtuple
except ImportError:  # Pycom's firmware
    from ucollections import namedtuple

# A module `traceback` may be on a board, too: micropython-lib has one.
if hasattr(sys, "print_exception"):

    def _print(exc):
        sys.print_exception(exc, sys.stderr)

else:
    from traceback import print_exception as _print_exception

    def _print(exc):
        _print_exception(type(exc), exc, exc.__traceback__, file=sys.stderr)


ExceptHookArgs = namedtuple("ExceptHookArgs", ("exc_type", "exc_value", "exc_traceback", "thread"))

_printing = allocate_lock()  # the lines of two threads do not mix


def excepthook(args):
    """The default hook: writes the thread's name and the traceback to stderr.

    `args` has exc_type, exc_value, exc_traceback (None on MicroPython) and thread, which is None
    if the exception came from a job or an alarm that is no Thread. To handle exceptions
    otherwise, assign a function to `uthreading.excepthook`.
    """
    if isinstance(args.exc_value, SystemExit):
        return
    name = get_ident() if args.thread is None else args.thread.name
    with _printing:
        print("Exception in thread {}:".format(name), file=sys.stderr)
        _print(args.exc_value)


_default = excepthook


def report(exc, thread):
    """Passes an exception to the hook, never raises; if the hook fails, both are printed."""
    if isinstance(exc, SystemExit):
        return  # `_thread.exit()` and `sys.exit()` just end a thread
    try:
        args = ExceptHookArgs(type(exc), exc, getattr(exc, "__traceback__", None), thread)
        try:
            uthreading.excepthook(args)
        except BaseException as e:
            with _printing:
                print("Exception in uthreading.excepthook:", file=sys.stderr)
                _print(e)
            _default(args)
    except BaseException:
        _last_resort(exc)


# There was no memory for the message, or stderr is closed.
def _last_resort(exc):
    try:
        _print(exc)
    except BaseException:
        pass


# Makes the name exist in the package before there are threads (the hook may be set already).
if not hasattr(uthreading, "excepthook"):
    uthreading.excepthook = excepthook
