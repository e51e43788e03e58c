"""What ends in the middle: memory, threads, processes by an exception, all by Ctrl-C."""
