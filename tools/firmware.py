"""Builds what goes onto a board."""

from firmware_mpy import PACKAGES, Failed, compiled

__all__ = ("PACKAGES", "Failed", "compiled")
