"""Schedules: every order in which processes could run, or very many of them."""
