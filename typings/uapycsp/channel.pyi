# For annotations: def f(cin: "ReadEnd[int]", cout: "WriteEnd[str]")

from cspcore._awaited import Channel as Channel
from cspcore._awaited import ReadEnd as ReadEnd
from cspcore._awaited import WriteEnd as WriteEnd
from cspcore._awaited import poison_channel as poison_channel
