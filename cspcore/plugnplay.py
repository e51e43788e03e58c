"""The process library's bodies for libraries whose operations are awaited, written once.

`build(csp)` makes the processes with the process, Parallel and Alternative of such a library.
All use plain reads, so that poison which enters at any of their ends leaves by all of them.
"""


def build(csp, nothing):
    """The processes of plugnplay as a dict by name; nothing: what poison_chans lets one await."""
    process = csp.process

    @process
    async def Identity(cin, cout):
        while True:
            await cout(await cin())

    @process
    async def Prefix(cin, cout, prefixItem=None):
        while True:
            await cout(prefixItem)
            prefixItem = await cin()

    @process
    async def SeqDelta2(cin, cout1, cout2):
        while True:
            v = await cin()
            await cout1(v)
            await cout2(v)

    @process
    async def ParDelta2(cin, cout1, cout2):
        Parallel = csp.Parallel
        while True:
            v = await cin()
            await Parallel(cout1.alt_pending_write(v), cout2.alt_pending_write(v))

    @process
    async def Successor(cin, cout):
        while True:
            await cout(await cin() + 1)

    @process
    async def Mux2(cin1, cin2, cout):
        alt = csp.Alternative(cin1, cin2)
        while True:
            _, v = await alt.fair_select()
            await cout(v)

    def poison_chans(*channels):
        for c in channels:
            csp.poison_channel(c)
        return nothing

    return {
        "Identity": Identity,
        "Prefix": Prefix,
        "SeqDelta2": SeqDelta2,
        "ParDelta2": ParDelta2,
        "Delta2": ParDelta2,
        "Successor": Successor,
        "Mux2": Mux2,
        "poison_chans": poison_chans,
    }
