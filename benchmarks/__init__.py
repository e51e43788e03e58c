"""The benchmarks: one pattern a file, one harness, and the thesis's own designs to compare with.

Run one through `main.py`: `micropython main.py commstime lib=uapycsp delta=seq n=1000 runs=10`.
"""
