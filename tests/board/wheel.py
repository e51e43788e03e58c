"""Runs the MicroPython of the wheel so that Ctrl-C can reach it as it reaches it on a board.

On SIGINT the Unix port jumps out of whatever it does, which may be its allocator: one time in
twenty what follows is broken. On a board an interrupt only notes Ctrl-C, and the interpreter
raises KeyboardInterrupt between two bytecodes. SIGNAL does that here.
"""

import ctypes
import os
import signal
import sys

SIGNAL = signal.SIGUSR2


def interpreter(program):
    """The Python that runs a console script of the wheel, None if the program is another one."""
    with open(program, "rb") as file:
        head = file.read(1000).decode("latin-1")
    if "from micropython import main" not in head:
        return None
    # The script lies beside it; its first line may be a shell's that deals with a space.
    beside = os.path.join(os.path.dirname(os.path.abspath(program)), "python3")
    return beside if os.path.exists(beside) else None


def main():
    import micropython_module

    library = ctypes.CDLL(micropython_module.__file__)
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal.restype = ctypes.c_void_p
    note = ctypes.cast(library.mp_sched_keyboard_interrupt, ctypes.c_void_p)
    # Sleeping ends, too. Other system calls go on, as `signal` has it: the collector of this port
    # frees what threads hold if its wait for their stacks is cut short.
    libc.signal(SIGNAL, note)
    micropython_module.run_main(["micropython", *sys.argv[1:]])


if __name__ == "__main__":
    main()
