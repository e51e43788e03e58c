# Freezes upycsp, and what it needs, into MicroPython: see manifest.py.

include("$(PORT_DIR)/boards/manifest.py")

package("cspcore", base_path="..", opt=3)
include("manifest_threads.py")
