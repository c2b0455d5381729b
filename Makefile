# Makefile - the front door; Meson does the work (meson.build)
#
#   make                build/heddle and all the rest; names missing packages, installs none
#   make deps           install the Debian packages that are missing (scripts/deps)
#   make demo           build what recording and analysing a small racy program needs, and do it
#   make check          before each commit: unit tests, command line, a sample of programs; 90 s
#   make test           everything that must hold (scripts/test); 20 min on two cores
#   make test-long      long campaigns: random traces, stress, fuzzing, all drivers (scripts/test-long)
#   make museum         programs after issues of other detectors, under Heddle and under those (docs/museum.md)
#   make test-real      real programs built with heddle-cc, recorded and analysed (tests/real)
#   make bench          cost of recording and compiling; throughput and size on generated traces (bench/)
#   make install        DESTDIR= PREFIX=/usr/local
#   make format         clang-format all C files; check-format only looks
#   make clean          remove every build directory
#
# demo and the tests install what they need, so that they work on a machine with make and gcc alone.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := build

all: build
.PHONY: all deps deps-there build demo check test test-long test-real museum bench install clean format check-format

deps:
	@scripts/deps

deps-there:
	@scripts/deps --check

# reconfigure only changes the prefix; Meson itself notices changed build files
$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix=$(PREFIX)

build: deps-there
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD)

demo: deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja -C $(BUILD) demo
	@scripts/demo $(BUILD)/heddle

check: deps
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@ninja --quiet -C $(BUILD)
	@scripts/check $(BUILD)

test:
	@scripts/deps --tests
	@scripts/test

test-long:
	@scripts/deps --tests
	@$(MAKE) --no-print-directory build
	@scripts/test-long $(BUILD)

museum:
	@scripts/deps --museum
	@$(MAKE) --no-print-directory build
	@tests/museum/run.py --build $(BUILD) --tools all --results $(BUILD)/museum.json
	@tests/museum/run.py --results $(BUILD)/museum.json --table docs/museum.md

test-real: build
	@tests/real/run $(BUILD)

bench: build
	@bench/run $(BUILD)
	@bench/record $(BUILD)
	@bench/compile $(BUILD)

install: deps-there
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

format: deps
	@scripts/format

check-format: deps
	@scripts/format --check

clean:
	rm -rf build build-gcc build-clang build-asan build-tsan build-self build-fuzz
