# For annotations: def f(cin: "ReadEnd[int]", cout: "WriteEnd[str]")

from cspcore._plain import Channel as Channel
from cspcore._plain import ReadEnd as ReadEnd
from cspcore._plain import WriteEnd as WriteEnd
from cspcore._plain import poison_channel as poison_channel
