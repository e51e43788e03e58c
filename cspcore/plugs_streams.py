"""Processes of plugnplay that drop, change or divide the values of a stream."""


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process

    @process
    async def Tail(cin, cout, count=1):
        while count > 0:
            await cin()
            count -= 1
        while True:
            await cout(await cin())

    @process
    async def Filter(cin, cout, predicate):
        while True:
            v = await cin()
            if predicate(v):
                await cout(v)

    @process
    async def Map(cin, cout, function):
        while True:
            await cout(function(await cin()))

    @process
    async def Fold(cin, cout, function, initial):
        while True:
            initial = function(initial, await cin())
            await cout(initial)

    @process
    async def Split(cin, cout1, cout2, predicate):
        while True:
            v = await cin()
            if predicate(v):
                await cout1(v)
            else:
                await cout2(v)

    @process
    async def Sign(cin, cout, sign):
        while True:
            await cout(sign + str(await cin()))

    return {
        "Tail": Tail,
        "Filter": Filter,
        "Map": Map,
        "Fold": Fold,
        "Split": Split,
        "Sign": Sign,
    }
