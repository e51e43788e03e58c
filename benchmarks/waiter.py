"""A small process that waits in a read."""


def of(csp, plain):
    """The process; plain: for plain calls."""
    if plain:

        @csp.process
        def waits(cin):
            return cin()

    else:

        @csp.process
        async def waits(cin):
            return await cin()

    return waits
