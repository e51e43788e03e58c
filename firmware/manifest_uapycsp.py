# Freezes uapycsp, and what it needs, into MicroPython: see manifest.py.

include("$(PORT_DIR)/boards/manifest.py")

package("cspcore", base_path="..", opt=3)
package(
    "ufuture",
    # All but cpython.py.
    files=[
        "__init__.py",
        "barrier.py",
        "children.py",
        "future.py",
        "heap.py",
        "loop.py",
        "micro.py",
        "outside.py",
        "timeout.py",
        "virtual.py",
        "waiter.py",
    ],
    base_path="..",
    opt=3,
)
package("uapycsp", base_path="..", opt=3)
