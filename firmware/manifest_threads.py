# uthreading and upycsp, all but what is for CPython alone: see manifest.py.

import os

for name in ("uthreading", "upycsp"):
    files = sorted(os.listdir("../" + name))
    package(
        name,
        files=[file for file in files if file.endswith(".py") and file != "fork.py"],
        base_path="..",
        opt=3,
    )
