# `make help` lists the targets. MICROPYTHON=... names another MicroPython than the one in .venv.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup run test report lint gate mutation clean

ARGS ?=
python := .venv/bin/python
# $MICROPYTHON, else the one in .venv, else the one on the PATH.
find_micropython := micropython="$${MICROPYTHON:-}"; \
	[ -n "$$micropython" ] || { [ -x .venv/bin/micropython ] && micropython=.venv/bin/micropython; } \
	|| micropython=micropython; MICROPYPATH=.:.frozen; export MICROPYPATH

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /make \1: /p' Makefile | awk -F ': ' '{printf "%-12s %s\n", $$1, $$2}'

setup: ## make or repair .venv (the other targets do this themselves)
	@sh tools/setup.sh

run: setup ## the four benchmarks in quick sizes, both libraries and the thesis's designs
	@$(find_micropython); "$$micropython" main.py quick

test: setup ## all tests, on MicroPython and CPython; ARGS="-k poison" are pytest's
	@$(python) -m pytest -n 2 $(ARGS)

report: setup ## the thesis's experiments in full, into docs/results
	@$(python) tools/report.py $(ARGS)

lint: setup ## ruff
	@$(python) -m ruff check .

gate: setup ## what goes onto a board compiles as MicroPython 1.11 did
	@$(python) -m pytest -q tests/test_gate.py $(ARGS)

mutation: setup ## which small changes of the code no test notices (hours; ARGS="cspcore/group.py")
	@$(python) -m pip install -q --disable-pip-version-check -r requirements-mutation.txt
	@$(python) tools/mutation.py $(ARGS)

clean: ## remove .venv, build and all caches
	@rm -rf .venv build .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
