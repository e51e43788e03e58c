"""Processes of plugnplay for streams of numbers (or of what else can be added)."""


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process

    async def both(f, cin1, cin2, cout):
        # A choice for the first of the two: poison of either is met at once, and whoever feeds
        # both inputs may do so in any order.
        alt = csp.Alternative(cin1, cin2)
        while True:
            g, a = await alt.select()
            if g is cin1:
                b = await cin2()
            else:
                b = a
                a = await cin1()
            await cout(f(a, b))

    @process
    def Plus(cin1, cin2, cout):
        return both(lambda a, b: a + b, cin1, cin2, cout)

    @process
    def Minus(cin1, cin2, cout):
        return both(lambda a, b: a - b, cin1, cin2, cout)

    @process
    def Times(cin1, cin2, cout):
        return both(lambda a, b: a * b, cin1, cin2, cout)

    @process
    async def Integrate(cin, cout):
        total = 0
        while True:
            total += await cin()
            await cout(total)

    @process
    async def Pairs(cin, cout):
        before = await cin()
        while True:
            v = await cin()
            await cout(before + v)
            before = v

    @process
    async def Numbers(cout):
        n = 0
        while True:
            await cout(n)
            n += 1

    @process
    async def Squares(cout):
        n = 1
        while True:
            await cout(n * n)
            n += 1

    @process
    async def Generate(cout, value):
        while True:
            await cout(value)

    @process
    async def GenerateInts(cout, start=0, stop=None, step=1):
        if step == 0:
            raise ValueError("a step is not zero")
        while stop is None or (start < stop if step > 0 else start > stop):
            await cout(start)
            start += step
        cout.poison()

    return {
        "Plus": Plus,
        "Minus": Minus,
        "Times": Times,
        "Integrate": Integrate,
        "Pairs": Pairs,
        "Numbers": Numbers,
        "Squares": Squares,
        "Generate": Generate,
        "GenerateInts": GenerateInts,
    }
