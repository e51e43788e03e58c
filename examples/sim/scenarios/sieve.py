"""Nothing happens from outside."""


def plan(example):
    pass
