# `make help` lists the targets. MICROPYTHON=... names another MicroPython than the one in .venv.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup run test report lint gate model schedules networks seeded faults soak repeat \
	board board-rom board-image perfcheck memory native types bench bench-peers coverage mutation \
	firmware sizes clean

ARGS ?=
SECONDS ?= 60
TIMES ?= 20
python := .venv/bin/python
# $MICROPYTHON, else the one in .venv, else the one on the PATH.
find_micropython := micropython="$${MICROPYTHON:-}"; \
	[ -n "$$micropython" ] || { [ -x .venv/bin/micropython ] && micropython=.venv/bin/micropython; } \
	|| micropython=micropython; MICROPYPATH=.:.frozen; export MICROPYPATH

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1: /p' Makefile | awk -F ': ' '{printf "%-18s %s\n", $$1, $$2}'

setup: ## make or repair .venv (the other targets do this themselves)
	@sh tools/setup.sh

run: setup ## the four benchmarks in quick sizes, both libraries and the thesis's designs
	@$(find_micropython); "$$micropython" main.py quick

test: setup ## all tests, on MicroPython and CPython; ARGS="-k poison" are pytest's
	@$(python) -m pytest -n 6 $(ARGS)

board: setup ## copy to a board and run there; PORT= LIB= RUN= N= SET="runs=5 ..." MPY=no OUT=
	@$(python) tools/board_main.py --port "$(PORT)" --lib "$(LIB)" --run "$(RUN)" --n "$(N)" \
		--set "$(SET)" --board "$(BOARD)" --mpy "$(MPY)" --out "$(OUT)" $(ARGS)

board-rom: setup ## the packages into a board's ROMFS partition; PORT=
	@$(python) tools/board_images.py rom --port "$(PORT)" $(ARGS)

board-image: setup ## erase an ESP32's files and write all anew; PORT= CONFIRM=yes OFFSET= FS_SIZE=
	@$(python) tools/board_images.py files --port "$(PORT)" --confirm "$(CONFIRM)" \
		--offset "$(OFFSET)" --size "$(FS_SIZE)" $(ARGS)

perfcheck: setup ## instructions per operation, against those kept; ARGS=--update keeps today's
	@$(python) tools/perfcheck.py $(ARGS)

memory: setup ## bytes of heap of objects and imports, and what an ESP32 has room for
	@$(python) tools/memory.py $(ARGS)

native: setup ## the packages with machine code in hot functions; ARGS="--march xtensawin"
	@$(python) tools/native_build.py $(ARGS)

bench: setup ## the figures to be reached, goal and found, into docs/results; ARGS=--quick
	@$(python) tools/bench.py $(ARGS)

bench-peers: setup ## CommsTime and choice beside what a user would pick instead, into docs/results
	@$(python) -m pip install -q --disable-pip-version-check -r requirements-peers.txt
	@$(python) tools/peers.py $(ARGS)

report: setup ## the thesis's experiments in full, into docs/results
	@$(python) tools/report.py $(ARGS)

lint: setup ## ruff
	@$(python) -m ruff check .

types: setup ## pyright over the type stubs, the examples and the rules' tests
	@$(python) tools/check_types.py

gate: setup ## what goes onto a board compiles as MicroPython 1.11 did
	@$(python) -m pytest -q tests/test_gate.py $(ARGS)

model: setup ## search the models of tests/models whole (needs spin and cc); ARGS="--bounded offers"
	@$(python) tools/models.py $(ARGS)

schedules: setup ## ten to twenty times the schedules of the tests, for both libraries
	@$(python) tests/schedules/explore.py --more 50
	@$(python) tests/schedules/tasks.py --times 20

networks: setup ## NETWORKS=2000 random networks of each kind; NETWORKS_SEED repeats a run
	@NETWORKS=$${NETWORKS:-2000} $(python) -m pytest -q tests/networks/test_networks.py $(ARGS)

seeded: setup ## faults seeded in copies of the libraries, and how many random networks each takes
	@$(python) tests/networks/seeded.py $(ARGS)

faults: setup ## every allocation, thread and moment that can fail, in full
	@CSP_FAULTS=1 $(python) -m pytest -q -s tests/faults $(ARGS)

soak: setup ## many networks at once, for SECONDS=60; ARGS="--libs both --seed 7 --log FILE"
	@$(python) tools/soak.py --seconds $(SECONDS) $(ARGS)

repeat: setup ## all tests, TIMES=20 times, beside two busy loops; ends at the first failure
	@$(python) tools/repeat.py --times $(TIMES) $(ARGS)

coverage: setup ## lines and branches that the tests reach, on both platforms, into build/coverage
	@$(python) tools/coverage/run.py $(if $(ARGS),,--page) -n 2 $(ARGS); status=$$?; \
		$(python) tools/coverage/cross.py && exit $$status

mutation: setup ## which small changes of the code no test notices (hours; ARGS="cspcore/group.py")
	@$(python) -m pip install -q --disable-pip-version-check -r requirements-mutation.txt
	@$(python) tools/mutation.py $(ARGS)

firmware: setup ## what boards take, into build/firmware; FIRMWARE=esp32.bin for all of its flash
	@$(python) tools/firmware.py $(if $(FIRMWARE),--firmware "$(FIRMWARE)") \
		$(if $(CHIP),--chip "$(CHIP)") $(if $(FLASH_SIZE),--flash-size "$(FLASH_SIZE)") \
		$(if $(OFFSET),--offset "$(OFFSET)") $(if $(FS_SIZE),--fs-size "$(FS_SIZE)") \
		$(if $(MPY),--mpy "$(MPY)") $(if $(ARCH),--arch "$(ARCH)") $(ARGS)

sizes: setup ## bytes of flash and RAM that the packages take, into docs/sizes.md
	@$(python) tools/sizes.py

clean: ## remove .venv, build and all caches
	@rm -rf .venv build .pytest_cache .ruff_cache *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
