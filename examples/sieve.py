"""The first primes, by a sieve that is a row of processes.

    [numbers] --> [sift] --> [sift] --> ... --> [last]
                     |          |                  |
                     +----------+---- primes ------+--> [show]

The first number that reaches a process is a prime; of the others it
passes on those that are no multiples. The last process needs no more
than its first number, and ends all the others by poison.

No wiring. Runs on the library that config.py names.
"""

import config

PRIMES = 10

csp = config.csp()


@csp.process
async def numbers(cout):
    n = 2
    while True:
        await cout(n)
        n += 1


@csp.process
async def sift(cin, cout, primes):
    prime = await cin()
    await primes(prime)
    while True:
        n = await cin()
        if n % prime:
            await cout(n)


@csp.process
async def last(cin, primes):
    await primes(await cin())
    cin.poison()
    primes.poison()


@csp.process
async def show(cin):
    async for prime in cin:
        print(prime)


def main():
    primes = csp.Channel("primes")
    row = [csp.Channel("row {}".format(i)) for i in range(PRIMES)]
    sieve = [
        sift(row[i].read, row[i + 1].write, primes.write)
        for i in range(PRIMES - 1)
    ]
    csp.run(
        numbers(row[0].write),
        last(row[-1].read, primes.write),
        show(primes.read),
        *sieve
    )


if __name__ == "__main__":
    main()
