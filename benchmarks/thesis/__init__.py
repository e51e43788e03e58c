"""The thesis's own two designs, rebuilt from their description: what the benchmarks compare with.

`thesis.uapycsp` stands on asyncio (a channel whose operations wait on futures, one task a
process), `thesis.upycsp` on threads (one shared re-entrant lock, one new thread a process). They
follow the structure of the ancestors and take no detour: nothing in them is slow on purpose. They
have what the benchmarks use and none of the rules that came later, and they import nothing of the
libraries here.
"""
