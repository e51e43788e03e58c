"""Starts coverage.py in every CPython that the tests start: it stands on PYTHONPATH for that.

The tests run in a copy of the project (TREE) whose packages have marks for MicroPython; CPython is
given the packages as they are, from ROOT.
"""

import _thread
import importlib.machinery
import os
import sys
import threading

import coverage

ROOT = os.environ["COVERED_ROOT"]
TREE = os.environ["COVERED_TREE"] + os.sep
PACKAGES = os.environ["COVERED_PACKAGES"].split()


class _AsTheyAre:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not os.path.abspath(spec.origin or "").startswith(TREE):
            return spec  # a test has its own
        return importlib.machinery.PathFinder.find_spec(name, [ROOT])


sys.meta_path.insert(0, _AsTheyAre)
coverage.process_startup()

if hasattr(threading, "gettrace") and sys.gettrace() is not None:
    # coverage.py knows of threads that `threading` starts; uthreading asks `_thread`.
    _start = _thread.start_new_thread

    def start_new_thread(f, args, kwargs=None):
        def traced():
            if threading.gettrace() is not None and sys.gettrace() is None:
                sys.settrace(threading.gettrace())
            f(*args, **(kwargs or {}))

        return _start(traced, ())

    # Threads of `threading` have their trace already, and keep the name they were given.
    _thread.start_new_thread = start_new_thread
