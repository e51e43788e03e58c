# What `cin.within(ms)` needs, to be imported early: it has no public names.
