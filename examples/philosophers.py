"""Five philosophers share five forks, and each needs two to eat.

                P0
          fork 0  fork 1
       P4               P1
      fork 4          fork 2
         P3   fork 3  P2

A fork is a channel that holds a token: to read takes the fork, to
write lays it down. All take the fork of lower number first, so who
has the highest one in use lacks none, or only a higher one, which is
free: somebody can always eat. NAIVE: each takes the left one first.
When all have, nobody can go on, and `run` says who waits for what.

No wiring. Runs on the library that config.py names.
"""

import config

SEATS = 5
MEALS = 3
NAIVE = False

csp = config.csp()


@csp.process
async def philosopher(name, first, second):
    take_first, put_first = first
    take_second, put_second = second
    a_while = csp.Alternative(csp.Timer(ms=5))
    for _ in range(MEALS):
        await a_while.select()  # thinks
        fork = await take_first()
        await a_while.select()  # reaches for the other one
        other = await take_second()
        await a_while.select()  # eats
        await put_second(other)
        await put_first(fork)
    return "P{} has eaten {} times".format(name, MEALS)


async def table():
    forks = []
    for i in range(SEATS):
        fork = csp.BufferedChannel("fork {}".format(i), 1)
        await fork.write("fork")
        forks.append((fork.read, fork.write))
    seated = []
    for i in range(SEATS):
        left, right = i, (i + 1) % SEATS
        if not NAIVE and left > right:
            left, right = right, left
        seated.append(philosopher(i, forks[left], forks[right]))
    return await csp.Parallel(*seated)


def main():
    try:
        for line in csp.run(table()):
            print(line)
    except csp.DeadlockError as error:
        print("deadlock:", error)


if __name__ == "__main__":
    main()
