# Makefile - the front door; Meson does the work (meson.build)
#
#   make                build/heddle
#   make demo           record and analyse a small racy program
#   make test           everything that must hold before a commit (scripts/test)
#   make test-real      real programs built with heddle-cc, recorded and analysed (tests/real)
#   make bench          cost of recording and compiling; throughput and size on generated traces (bench/)
#   make install        DESTDIR= PREFIX=/usr/local
#   make format         clang-format all C files; check-format only looks
#   make clean          remove every build directory

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := build

all: build
.PHONY: all deps build demo test test-real bench install clean format check-format

deps:
	@scripts/deps

# reconfigure only changes the prefix; Meson itself notices changed build files
$(BUILD)/build.ninja: | deps
	meson setup $(BUILD) --prefix=$(PREFIX)

build: deps $(BUILD)/build.ninja
	@ninja -C $(BUILD)

demo: build
	@scripts/demo $(BUILD)/heddle

test:
	@scripts/deps --tests
	@scripts/test

test-real: build
	@tests/real/run $(BUILD)

bench: build
	@bench/run $(BUILD)
	@bench/record $(BUILD)
	@bench/compile $(BUILD)

install: deps $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

format: deps
	@scripts/format

check-format: deps
	@scripts/format --check

clean:
	rm -rf build build-gcc build-clang build-asan build-tsan build-self build-fuzz
