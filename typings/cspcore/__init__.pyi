# The core of both libraries; programs take its names from `uapycsp` and `upycsp`.
