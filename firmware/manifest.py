# Freezes both libraries into MicroPython, beside what its port freezes by itself:
#
#     make BOARD=ESP32_GENERIC FROZEN_MANIFEST=/path/to/firmware/manifest.py

include("manifest_uapycsp.py")
include("manifest_threads.py")
