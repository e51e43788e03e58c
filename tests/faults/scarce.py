"""Runs the MicroPython of the wheel so that an allocation can be made to fail, and those after it.

    python scarce.py [-X heapsize=..] script.py arguments

The interpreter reaches its allocator through a table of addresses, in which this puts two routines
of its own. They count, and when it is time answer as an allocator does that has no memory left.
What the script needs to steer them is the address of a control block, its last argument:

    bytes 0-7    counts down: the allocation that finds 1 here is the first to fail
    bytes 8-15   how many fail from that one on; 0: none, whatever is counted
    bytes 16-23  counts up: how many have failed

For Linux on x86-64.
"""

import ctypes
import mmap
import platform
import struct
import sys

_DYNAMIC = 2  # a program header of this type leads to values with these tags:
_SIZE, _NAMES, _SYMBOLS, _JUMPS = 2, 5, 6, 23

# A page begins with the control block; behind it stand the addresses of gc_alloc, gc_realloc and
# gc_nbytes, and from byte 64 on these instructions.
_ROUTINES = """
49 c7 c3 ff ff ff ff        mov $-1, %r11
f0 4c 0f c1 1d b0 ff ff ff  lock xadd %r11, count
49 83 fb 01                 cmp $1, %r11
7f 18                       jg 1f
4c 03 1d ab ff ff ff        add most, %r11
49 83 fb 01                 cmp $1, %r11
7e 0b                       jle 1f
f0 48 ff 05 a5 ff ff ff     lock incq failed
31 c0                       xor %eax, %eax
c3                          ret
ff 25 a4 ff ff ff           1: jmp *gc_alloc
66 66 2e 0f 1f 84 00 00 00 00 00 90  (up to byte 128)
48 85 ff                    test %rdi, %rdi
74 44                       je 2f
48 85 f6                    test %rsi, %rsi
74 3f                       je 2f
57 56 52                    push %rdi; push %rsi; push %rdx
ff 15 95 ff ff ff           call *gc_nbytes
5a 5e 5f                    pop %rdx; pop %rsi; pop %rdi
48 39 c6                    cmp %rax, %rsi
76 2e                       jbe 2f  (what does not grow needs no memory)
49 c7 c3 ff ff ff ff        mov $-1, %r11
f0 4c 0f c1 1d 55 ff ff ff  lock xadd %r11, count
49 83 fb 01                 cmp $1, %r11
7f 18                       jg 2f
4c 03 1d 50 ff ff ff        add most, %r11
49 83 fb 01                 cmp $1, %r11
7e 0b                       jle 2f
f0 48 ff 05 4a ff ff ff     lock incq failed
31 c0                       xor %eax, %eax
c3                          ret
ff 25 51 ff ff ff           2: jmp *gc_realloc
"""
_ALLOC, _REALLOC = 64, 128
_kept = []  # nobody else refers to the page


def unavailable():
    """Why allocations can't be made to fail here, or None."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "allocations can be made to fail on Linux on x86-64 only"
    return None


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("file", "base", "name", "address")]


def _base_of(function):
    info = _Info()
    found = ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info))
    assert found
    return info.base


def _dynamic(base):
    # What the loader knows of a library, by tag.
    head = ctypes.string_at(base, 64)
    (at,) = struct.unpack_from("<Q", head, 32)
    size, n = struct.unpack_from("<HH", head, 54)
    for i in range(n):
        kind, _, _, address = struct.unpack("<IIQQ", ctypes.string_at(base + at + i * size, 24))
        if kind == _DYNAMIC:
            break
    values = {}
    at = base + address
    tag = -1
    while tag:
        tag, values[tag] = struct.unpack("<qQ", ctypes.string_at(at, 16))
        at += 16
    return values


def _slots(base, wanted):
    # Where the addresses of these functions stand in the library's table.
    values = _dynamic(base)
    places = [values[tag] for tag in (_NAMES, _SYMBOLS, _JUMPS)]
    names, symbols, jumps = [p if p > base else base + p for p in places]
    slots = {}
    for at in range(jumps, jumps + values[_SIZE], 24):
        offset, info = struct.unpack("<QQ", ctypes.string_at(at, 16))
        (name,) = struct.unpack("<I", ctypes.string_at(symbols + (info >> 32) * 24, 4))
        name = ctypes.string_at(names + name).decode()
        if name in wanted:
            slots[name] = base + offset
    return slots


def _divert(library):
    """Put the routines in; the address of the control block."""
    kind = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=kind)
    _kept.append(page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    names = ("gc_alloc", "gc_realloc", "gc_nbytes")
    originals = [ctypes.cast(getattr(library, n), ctypes.c_void_p).value for n in names]
    code = b"".join(bytes.fromhex(line.split("  ")[0]) for line in _ROUTINES.splitlines())
    page[24:48] = struct.pack("<QQQ", *originals)
    page[_ALLOC : _ALLOC + len(code)] = code
    slots = _slots(_base_of(library.gc_alloc), names)
    for name, routine in ("gc_alloc", _ALLOC), ("gc_realloc", _REALLOC):
        slot = slots[name]
        start = slot & -mmap.PAGESIZE
        libc = ctypes.CDLL(None)
        assert libc.mprotect(ctypes.c_void_p(start), mmap.PAGESIZE, 3) == 0
        ctypes.c_uint64.from_address(slot).value = address + routine
    return address


def main():
    import micropython_module

    address = _divert(ctypes.CDLL(micropython_module.__file__))
    sys.exit(micropython_module.run_main(["micropython", *sys.argv[1:], str(address)]))


if __name__ == "__main__":
    main()
