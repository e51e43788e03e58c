# What `ch.reader() and ch.writer()` needs, to be imported early: it has no public names.
