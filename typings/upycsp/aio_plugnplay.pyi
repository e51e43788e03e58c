from uapycsp.plugnplay import *
