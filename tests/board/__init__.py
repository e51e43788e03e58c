"""A board without a board: see board.py."""
