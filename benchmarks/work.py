"""What the workers of `benchmarks.workers` do with a message, and the messages.

    compute = compiled("fib", "viper")      # None where the compiler has no viper
    text = answer(question(0, 17), compute)
    is_right(text, 0, 17, expected("fib", 17)[17])

Each work takes the number of a message:

    none        gives it back
    sqrt        the Fibonacci number of its square root, iteratively
    fib         the Fibonacci number of the number, iteratively
    recursive   the same, recursively
    blocks      makes and drops 100 blocks of 4 KB

Iterated Fibonacci numbers are taken modulo 2**29, so that they and their sums are small integers
on every port and machine integers in viper. Recursion takes hours before it comes to larger ones.
"""

import json
import math

_MODULO = 1 << 29

# The emitters are chosen while compiling, so the work is a text that is compiled with each. Viper
# needs to be told that what a call gives is an integer; for the others `int` would be one call
# more, which costs as much as the one that is measured.
_ITERATIVE = """
{emitter}
def work(n: int) -> int:
    a = 0
    b = 1
    for _ in range(COUNT):
        c = (a + b) & 0x1fffffff
        a = b
        b = c
    return a
"""
_SOURCES = {
    "none": """
{emitter}
def work(n: int) -> int:
    return n
""",
    "sqrt": _ITERATIVE.replace("COUNT", "{int}(root(n))"),
    "fib": _ITERATIVE.replace("COUNT", "n"),
    "recursive": """
{emitter}
def work(n: int) -> int:
    if n < 2:
        return n
    return {int}(work(n - 1)) + {int}(work(n - 2))
""",
    "blocks": """
{emitter}
def work(n: int) -> int:
    total = 0
    for i in range(100):
        block = bytearray(4096)
        block[i] = (n + i) & 255
        total += {int}(block[i])
    return total
""",
}


def _root(n):
    return int(math.sqrt(n))


def compiled(name, emitter):
    """The function of a work, as `bytecode`, `native` or `viper`; None where the compiler has
    no such emitter."""
    line = "" if emitter == "bytecode" else "@micropython." + emitter
    names = {"root": _root}
    try:
        exec(_SOURCES[name].format(emitter=line, int="int" if emitter == "viper" else ""), names)
    except (SyntaxError, NameError):    # MicroPython without emitters, and CPython
        return None
    return names["work"]


def _fibonacci(n, modulo):
    numbers = [0, 1]
    while len(numbers) <= n:
        numbers.append((numbers[-1] + numbers[-2]) % modulo)
    return numbers


def expected(name, n):
    """The results of 0 to n, found another way than the work's."""
    if name == "none":
        return list(range(n + 1))
    if name == "sqrt":
        found = []
        root = 0
        for value in _fibonacci(_root(n) + 1, _MODULO):
            # The numbers from root * root have that root, until the next square.
            found.extend([value] * (2 * root + 1))
            root += 1
        return found[:n + 1]
    if name == "blocks":
        # 100 neighbouring bytes; where they pass 255, those beyond have 256 less.
        return [100 * (k & 255) + 4950 - 256 * max(0, (k & 255) - 156) for k in range(n + 1)]
    return _fibonacci(n, _MODULO if name == "fib" else 1 << 62)[:n + 1]


def question(worker, number):
    """The message to a worker."""
    return json.dumps({"worker": worker, "number": number})


def answer(text, work):
    """The worker's message back, with the work done."""
    message = json.loads(text)
    message["result"] = work(message["number"])
    return json.dumps(message)


def is_right(text, worker, number, result):
    """Whether it is that worker's answer to that number, with that result."""
    message = json.loads(text)
    return (message["worker"] == worker and message["number"] == number
            and message["result"] == result)
