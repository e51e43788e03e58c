"""Runs an example on the desktop, with a simulated board and a scenario that ends.

    micropython examples/sim/run.py button_led
    micropython examples/sim/run.py philosophers NAIVE=True LIB=upycsp

NAME=value sets a constant of the example, LIB the library of those that config.py gives one. Exit
status: 1 if the example failed, 2 for an unknown example, constant or value, 141 if nobody reads
on what it prints.
"""

import sys

HERE = __file__.replace("\\", "/").rsplit("/", 1)[0] if "/" in __file__ else "."
# The interpreter has put this folder first; the examples and the packages come last.
sys.path.extend([HERE + "/..", HERE + "/../.."])

EITHER = ("philosophers", "sieve")  # what runs on either library
COROUTINES = ("button_led", "uart_gateway", "motor_stop", "wifi_node")
NAMES = ("button_led", "sensor_logger", "uart_gateway", "motor_stop", "wifi_node") + EITHER


class Usage(Exception):
    pass


def load(name):
    """The module of an example, on a new simulated board."""
    if name in COROUTINES:  # from here: what is half loaded keeps more of the heap in use
        from uapycsp import Alternative, run  # noqa: F401
    example = __import__(name)
    from world import world
    world.reset()
    if "uapycsp" in sys.modules:
        import clock
        clock.install()
    return example


def play(name, settings=()):
    """Runs an example with its scenario; settings are (constant, value) that come last."""
    example = load(name)
    from world import world
    end = __import__("scenarios." + name, None, None, ("plan",)).plan(example)
    try:
        for constant, value in settings:
            setattr(example, constant, value)
        example.main()
    except KeyboardInterrupt:
        world.tell("ended")
    finally:
        if end is not None:
            end()


def _value(text, like, constant):
    # A setting as a value of the constant's type.
    if isinstance(like, bool):
        if text not in ("True", "False"):
            raise Usage("{} takes True or False, not {!r}".format(constant, text))
        return text == "True"
    if isinstance(like, str):
        return text
    try:
        return int(text)
    except ValueError:
        raise Usage("{} takes a whole number, not {!r}".format(constant, text))


def _constants(example):
    names = sorted(n for n in dir(example) if n == n.upper() and n[0] != "_")
    return [n for n in names if type(getattr(example, n)) in (bool, int, str)]


def _settings(words, example):
    settings = []
    for word in words:
        constant, equals, text = word.partition("=")
        names = _constants(example)
        if not equals or constant not in names:
            raise Usage("{} has no constant {!r}; there are: {}".format(
                example.__name__, constant, " ".join(names)))
        settings.append((constant, _value(text, getattr(example, constant), constant)))
    return settings


def _choose(name, words):
    # The library: config.py is asked for it once, when the example is loaded.
    for word in words:
        if word.startswith("LIB="):
            if name not in EITHER:
                raise Usage("{} has a library of its own; LIB is for {}".format(
                    name, " and ".join(EITHER)))
            import config
            config.LIB = word[4:]
            if config.LIB not in ("uapycsp", "upycsp"):
                raise Usage("LIB takes uapycsp or upycsp, not {!r}".format(config.LIB))
    return [word for word in words if not word.startswith("LIB=")]


def main(words):
    """The exit status."""
    try:
        if not words or words[0] not in NAMES:
            raise Usage("which example? {}".format(" ".join(NAMES)))
        name = words[0]
        settings = _settings(_choose(name, words[1:]), load(name))
    except Usage as error:
        print(error, file=sys.stderr)
        return 2
    play(name, settings)
    return 0


if __name__ == "__main__":
    from main import program
    sys.exit(program(main, sys.argv[1:]))
