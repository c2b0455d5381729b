#!/bin/sh
# Who installs packages, and who only names them? With stand-ins for dpkg-query and apt-get. Prints TAP.
set -u
deps=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset HEDDLE_NO_DEPS
n=0

# stand_in NAME COMMANDS
stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}
mkdir "$dir/bin"
stand_in apt-get "echo \"\$@\" >>'$dir/installed'"
stand_in id 'echo 0'

# expect NAME STATUS WORDS OPTION: the exit code, and whether WORDS were installed (-: nothing was)
expect() {
    n=$((n + 1))
    rm -f "$dir/installed"
    PATH=$dir/bin:$PATH "$deps" $4 >"$dir/out" 2>&1
    status=$?
    got=$(cat "$dir/installed" 2>/dev/null)
    case "$3" in
    -) [ -z "$got" ] ;;
    *) case "$got" in *"$3"*) true ;; *) false ;; esac ;;
    esac && [ $status = "$2" ] && echo "ok $n - $1" && return
    echo "not ok $n - $1"
    echo "# exit $status, installed: $got"
    sed 's/^/# /' "$dir/out"
}

echo 1..6
stand_in dpkg-query 'exit 0'
expect "plain make names what is missing and installs nothing" 1 - --check
grep -q "clang-19" "$dir/out" &&
    grep -q "'make deps' installs them" "$dir/out" && echo "ok 2 - it says what is missing, and what helps" ||
    echo "not ok 2 - it says what is missing, and what helps"
n=2
expect "make deps installs" 0 clang-19 ""
expect "tests install what only they need" 0 postgresql --tests
all=$(sed -n '/^packages="/,/"$/p' "$deps" | tr -d '"' | sed 's/^packages=//' | tr '\n' ' ')
stand_in dpkg-query "for p in $all; do echo \"\$p installed\"; done"
expect "where everything is there nothing happens" 0 - --check
expect "and nothing is installed" 0 - ""
