"""Processes of plugnplay at which a stream ends, and one without any."""


def build(csp):
    """The processes of this group as a dict by name."""
    process = csp.process

    @process
    async def Printer(cin, prefix="", postfix=""):
        while True:
            # In one piece: other threads may print, too.
            print(prefix + str(await cin()) + postfix + "\n", end="")

    @process
    async def BlackHole(cin):
        while True:
            await cin()

    @process
    async def Collect(cin, count=None):
        values = []
        try:
            while count is None or len(values) < count:
                values.append(await cin())
        except csp.PoisonException:
            return values
        cin.poison()
        return values

    @process
    async def SkipProcess():
        pass

    return {
        "Printer": Printer,
        "BlackHole": BlackHole,
        "Collect": Collect,
        "SkipProcess": SkipProcess,
    }
