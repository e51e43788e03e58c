from uapycsp.meeting import *
