"""Lets pytest run test functions inside MicroPython and CPython: see collect.py."""
