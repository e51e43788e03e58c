"""Processes of plugnplay with any number of inputs or outputs, given as a list or tuple."""


def some(ends, least=1):
    if not isinstance(ends, (list, tuple)):
        raise TypeError("a list or tuple of ends is expected")
    if len(ends) < least:
        raise ValueError("a list of %d or more ends is expected" % least)
    return ends


def taker(csp, cins):
    # An async function that reads one value from each of the inputs with these numbers, as
    # they come: in a choice of all that are missing, so that poison of any is met at once.
    # Parallel would wait for the others first, whom only that poison may end.
    last = {}  # by how many are missing: which, and their alternative, as the last time

    async def take(missing, values):
        while len(missing) > 1:
            which, alt = last.get(len(missing), (None, None))
            if which != missing:
                alt = csp.Alternative(*[cins[i] for i in missing])
                last[len(missing)] = missing, alt
            g, v = await alt.select()
            n = 0
            while cins[missing[n]] is not g:
                n += 1
            values[missing[n]] = v
            missing = missing[:n] + missing[n + 1 :]
        for i in missing:
            values[i] = await cins[i]()

    return take


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process
    Alternative = csp.Alternative
    Parallel = csp.Parallel

    @process
    async def Delta(cin, couts):
        some(couts)
        while True:
            v = await cin()
            await Parallel(*[cout.alt_pending_write(v) for cout in couts])

    @process
    async def Paraplex(cins, cout):
        take = taker(csp, some(cins))
        missing = tuple(range(len(cins)))
        while True:
            values = list(missing)  # a new one each time: the reader may keep it
            await take(missing, values)
            await cout(values)

    @process
    async def Multiplex(cins, cout, fair=True):
        alt = Alternative(*some(cins))
        select = alt.fair_select if fair else alt.select
        while True:
            g, v = await select()
            i = 0
            while cins[i] is not g:
                i += 1
            await cout((i, v))

    @process
    async def Demultiplex(cin, couts):
        some(couts)
        while True:
            i, v = await cin()
            if i < 0:
                raise IndexError("an output's number is not negative")
            await couts[i](v)

    @process
    async def Merge(cins, cout):
        take = taker(csp, some(cins, 2))
        missing = tuple(range(len(cins)))
        values = list(missing)
        while True:
            await take(missing, values)
            least = min(values)
            await cout(least)
            missing = tuple([i for i in range(len(cins)) if values[i] == least])

    return {
        "Delta": Delta,
        "Paraplex": Paraplex,
        "Multiplex": Multiplex,
        "Demultiplex": Demultiplex,
        "Merge": Merge,
    }
