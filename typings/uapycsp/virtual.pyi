from ufuture import VirtualClock as VirtualClock
