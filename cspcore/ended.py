"""What the guards for the end of a process share: the chain of those who wait for it."""


def without(first, x):
    """The first of a chain linked by `next`, from which x was taken out if it was there."""
    if first is x:
        return x.next
    o = first
    while o is not None:
        if o.next is x:
            o.next = x.next
            break
        o = o.next
    return first
