"""The figures that the thesis printed, to stand beside those measured here.

From J. H. L. Johansen, "µPyCSP: Two approaches to implementing CSP-like concurrency modeling in
microcontrollers", UiT, June 2020. Unix is a Core i5-8500T with MicroPython 1.11 and Python 3.8,
FiPy an ESP32 at 240 MHz with Pycom's MicroPython 1.20.1.r1 (MicroPython 1.11). 100 runs.
"""

# us per communication: name, parallel delta (min, avg, max), sequential delta (min, avg, max)
COMMSTIME = (
    ("PyCSP, CPython", (36.687, 37.563, 39.618), (12.000, 13.293, 17.941)),
    ("aPyCSP, CPython", (12.773, 13.053, 13.403), (5.905, 6.186, None)),
    ("uPyCSP, Unix", (28.742, 29.580, 30.595), (17.622, 17.999, 18.396)),
    ("uaPyCSP, Unix", (22.077, 22.255, 22.975), (13.483, 13.606, 13.847)),
    ("uPyCSP, FiPy", (5934.724, 6251.178, 6703.854), (3100.868, 3462.108, 3827.499)),
    ("uaPyCSP, FiPy", (2941.495, 3141.813, 3473.825), (1802.616, 1941.257, 2191.131)),
)

# us per select, average: name, then (with, select) of 100 channels x 5, of 5 x 2, of 5 x 2 on FiPy
STRESSED = (
    ("aPyCSP, CPython", (79.358, 79.104), (10.930, 10.371), None),
    ("PyCSP, CPython", (59.170, 58.457), (19.247, 18.817), None),
    ("uaPyCSP, rescheduling futures", (251.054, 252.375), (27.185, 26.679), (4986.087, 4844.526)),
    ("uaPyCSP, yielding futures", (249.032, 250.031), (25.783, 25.250), (4712.095, 4568.494)),
    ("uPyCSP", (26.283, 26.632), (19.087, 19.359), (3523.560, 3522.165)),
)

# us for N elements: machine, queue, N, append, popleft, filter
QUEUES = (
    ("Unix", "deque", 500, 26, 25, 42),
    ("Unix", "deque", 16000, 800, 786, 1288),
    ("Unix", "list", 500, 29, 46, 53),
    ("Unix", "list", 8000, 412, 4179, 816),
    ("FiPy", "deque", 500, 485, 463, 1218),
    ("FiPy", "deque", 16000, 15243, 14506, 40435),
    ("FiPy", "list", 500, 1794, 1016, 1626),
    ("FiPy", "list", 16000, 56357, 470440, 50480),
)

WAITING = (
    "With rescheduling futures the thesis's total time was flat in the number of waiters, "
    "with yielding ones it was linear; the lines crossed at 2 waiters (Unix) and 4 (FiPy)."
)
