#!/bin/sh
# load.sh - the bar, by hand: 1,000 runs against one store, a tenth killed; both databases
#
#   tests/fleet/load.sh BUILD [RUNS]
#
# First the store alone (load.c), then real runs of a program (run.py). Minutes.
set -eu
build=$(cd "$1" && pwd)
runs=${2:-1000}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HEDDLE_MODULES="$build"
echo "SQLite, store alone:"
"$build/tests/fleet/load" "$dir/store" "$dir/spool" "$runs" 16 10
echo "PostgreSQL, store alone:"
"$here/with_postgres" sh -c '[ -z "${HEDDLE_TEST_POSTGRES:-}" ] ||
    "$1" "$HEDDLE_TEST_POSTGRES" "$2" "$3" 16 10' sh "$build/tests/fleet/load" "$dir/spool2" "$runs"
echo "whole runs:"
"$here/with_postgres" "$here/run.py" "$build/heddle" "$build/heddle-cc" "$here/racy.c" "$runs"
