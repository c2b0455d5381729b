#!/bin/sh
# Does the include check catch what it must, and let pass what is allowed? Prints TAP.
set -u
check=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0

# expect NAME FILE HEADER WANTED: FILE with one #include "HEADER" on line 2 prints WANTED
expect() {
    n=$((n + 1))
    rm -rf "$dir/src"
    mkdir -p "$dir/src/$(dirname "$2")"
    printf '/* x */\n#include "%s"\n' "$3" >"$dir/src/$2"
    got=$("$check" "$dir")
    status=$?
    want_status=0
    [ "$4" ] && want_status=1
    if [ "$got" = "$4" ] && [ $status = $want_status ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "# exit $status, printed: $got"
    fi
}

echo 1..18
expect "base includes nothing of ours" base/a.c trace/event.h \
    'src/base/a.c:2: base may not include "trace/event.h"'
expect "trace includes base" trace/a.c base/buf.h ''
expect "trace does not include order" trace/a.c order/step.h \
    'src/trace/a.c:2: trace may not include "order/step.h"'
expect "engines include order" engines/a.c order/step.h ''
expect "engines do not include the witness checker" engines/hb.c witness/witness.h \
    'src/engines/hb.c:2: engines may not include "witness/witness.h"'
expect "whole.c does" engines/whole.c witness/witness.h ''
expect "the witness checker does not include engines" witness/a.c engines/race.h \
    'src/witness/a.c:2: witness may not include "engines/race.h"'
expect "report includes race.h and no other header of engines" report/a.c engines/engine.h \
    'src/report/a.c:2: report may not include "engines/engine.h"'
expect "an include without its folder is refused" trace/a.c event.h \
    'src/trace/a.c:2: trace may not include "event.h"'
expect "a folder nobody listed is refused" extra/a.c base/buf.h \
    'src/extra/a.c:2: folder extra is not in scripts/check-includes'
expect "also one in a folder that is listed" trace/extra/a.c base/buf.h \
    'src/trace/extra/a.c:2: folder trace/extra is not in scripts/check-includes'
expect "C++ is looked at, too" pass/production/a.cpp trace/event.h \
    'src/pass/production/a.cpp:2: pass/production may not include "trace/event.h"'
expect "and has LLVM's headers" pass/a.cpp llvm/IR/Module.h ''
expect "engines of one kind include what all share" engines/closure/a.c engines/engine.h ''
expect "and not those of another kind" engines/closure/a.c engines/streaming/wcp.h \
    'src/engines/closure/a.c:2: engines/closure may not include "engines/streaming/wcp.h"'
expect "a folder that may be included does not bring those in it" order/a.c trace/hdl/codec.h \
    'src/order/a.c:2: order may not include "trace/hdl/codec.h"'
expect "models do not include modes" runtime/libc/a.c runtime/production/patch.h \
    'src/runtime/libc/a.c:2: runtime/libc may not include "runtime/production/patch.h"'
expect "the runtime does not include base" runtime/core/a.c base/buf.h \
    'src/runtime/core/a.c:2: runtime/core may not include "base/buf.h"'
