"""MicroPython before 1.21 has no module of this name."""

raise ImportError("no module named 'asyncio'")
