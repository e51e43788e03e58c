"""Time that jumps, for tests: `run(main(), clock=VirtualClock())`. See ufuture.virtual."""

from ufuture.virtual import VirtualClock  # noqa: F401
