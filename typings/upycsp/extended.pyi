# What `cin.extended()` needs, to be imported early: it has no public names.
