"""What prints well: channels, their ends and processes say what they are."""

import csp


@csp.process
async def counter():
    pass


def test_a_channel_says_its_name():
    assert repr(csp.Channel("the name")) == "<channel the name>"
    assert repr(csp.BufferedChannel("b", capacity=2)) == "<channel b>"
    assert "without a name" in repr(csp.Channel())


def test_an_end_says_which_it_is_and_of_which_channel():
    for kind in (csp.Channel, csp.BufferedChannel):
        ch = kind("the name")
        assert repr(ch.read) == "<read end of the name>"
        assert repr(ch.write) == "<write end of the name>"
        assert "unnamed" in repr(kind().read)


def test_a_process_says_what_it_is():
    p = counter()
    assert repr(p) == "<process counter>" and p.name == "counter"
    csp.run(p)
    assert repr(p) == "<process counter>" and p.name == "counter"
