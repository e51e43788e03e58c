from uapycsp.pool import *
