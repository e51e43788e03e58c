"""Each library's modules are its attributes, and can be imported from it."""

import uapycsp
import upycsp
from uapycsp import adapters, bridge, guards, meeting, plugnplay, pool, timers, virtual
from upycsp import adapters as plain_adapters
from upycsp import aio
from upycsp import bridge as plain_bridge
from upycsp import guards as plain_guards
from upycsp import meeting as plain_meeting
from upycsp import plugnplay as plain_plugnplay
from upycsp import pool as plain_pool
from upycsp import timers as plain_timers
from upycsp import virtual as plain_virtual
from upycsp.aio import adapters as aio_adapters
from upycsp.aio import bridge as aio_bridge
from upycsp.aio import guards as aio_guards
from upycsp.aio import meeting as aio_meeting
from upycsp.aio import plugnplay as aio_plugnplay
from upycsp.aio import pool as aio_pool
from upycsp.aio import timers as aio_timers
from upycsp.aio import virtual as aio_virtual

print(adapters.FromStream, bridge.Bridge, guards.On, meeting.Barrier, plugnplay.Collect)
print(pool.Farm, timers.ticks_ms(), virtual.VirtualClock)
print(plain_adapters.FromStream, plain_bridge.Bridge, plain_guards.Ended, plain_meeting.Barrier)
print(plain_plugnplay.Collect, plain_pool.Farm, plain_virtual.VirtualClock)
print(aio_adapters.FromStream, aio_bridge.Bridge, aio_guards.Ended, aio_meeting.Barrier)
print(aio_plugnplay.Collect, aio_pool.Farm, aio_virtual.VirtualClock)
moment = plain_timers.ticks_add(aio_timers.ticks_ms(), 5)  # type: int

print(uapycsp.guards.Ended, uapycsp.meeting.Bucket, uapycsp.timers.ticks_diff(moment, 0))
print(upycsp.guards.Ended, upycsp.meeting.Bucket, upycsp.timers.ticks_diff(moment, 0))
print(aio.guards.Ended, aio.meeting.Bucket, aio.timers.ticks_diff(moment, 0))
print(aio.plugnplay.Numbers, aio.pool.pmap, aio.adapters.Samples, aio.bridge.Bridge)
