from builtins import TimeoutError as TimeoutError

from cspcore._awaited import CSP as CSP
from cspcore._awaited import Alternative as Alternative
from cspcore._awaited import BufferedChannel as BufferedChannel
from cspcore._awaited import Channel as Channel
from cspcore._awaited import Closed as Closed
from cspcore._awaited import Parallel as Parallel
from cspcore._awaited import Sequence as Sequence
from cspcore._awaited import Spawn as Spawn
from cspcore._awaited import poison_channel as poison_channel
from cspcore._awaited import process as process
from cspcore._awaited import run as run
from cspcore._awaited import run_CSP as run_CSP
from cspcore.choice import At as At
from cspcore.choice import Every as Every
from cspcore.choice import Guard as Guard
from cspcore.choice import Skip as Skip
from cspcore.choice import Timer as Timer
from cspcore.errors import ChannelPoisonException as ChannelPoisonException
from cspcore.errors import DeadlockError as DeadlockError
from cspcore.errors import PoisonException as PoisonException
from cspcore.errors import RetireException as RetireException
from upycsp import aio_adapters as adapters
from upycsp import aio_bridge as bridge
from upycsp import aio_meeting as meeting
from upycsp import aio_plugnplay as plugnplay
from upycsp import aio_pool as pool
from upycsp import guards as guards
from upycsp import timers as timers
from upycsp import virtual as virtual

# What has another name there is public by standing here.
__all__ = [
    "Alternative",
    "At",
    "BufferedChannel",
    "CSP",
    "Channel",
    "ChannelPoisonException",
    "Closed",
    "DeadlockError",
    "Every",
    "Guard",
    "Parallel",
    "PoisonException",
    "RetireException",
    "Sequence",
    "Skip",
    "Spawn",
    "TimeoutError",
    "Timer",
    "adapters",
    "bridge",
    "guards",
    "meeting",
    "plugnplay",
    "poison_channel",
    "pool",
    "process",
    "run",
    "run_CSP",
    "timers",
    "virtual",
]
