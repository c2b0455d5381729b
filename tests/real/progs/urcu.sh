# liburcu (C): userspace RCU and a lock-free hash table; fences and atomics of its own.
# The benchmarks run for a second each: their "seconds" are seconds per million operations.
pkg="liburcu" deps="autoconf automake libtool"
build() {
    cd liburcu
    [ -f Makefile ] || { autoreconf -fi && ./configure -q --disable-shared; }
    make -C include -j"$JOBS"
    make -C src -j"$JOBS"
    make -C tests/common
    make -C tests/benchmark -j"$JOBS" test_urcu_mb test_urcu_qsbr test_urcu_hash
}
work() {
    local t ops
    for t in test_urcu_mb test_urcu_qsbr test_urcu_hash; do
        run "$B/liburcu/tests/benchmark/$t" 2 1 1 >out 2>&1 || { cat out; return 1; }
        ops=$(sed -n 's/.*nr_ops *\([0-9][0-9]*\).*/\1/p' out | tail -n 1)
        [ "${ops:-0}" -gt 0 ] || return 1
        awk -v ops="$ops" 'NR > 1 { print l } { l = $0; c = $2; k = $3 } END { print 1e6 / ops, c, k }' \
            "$OUT/times" >times.new && mv times.new "$OUT/times"
        echo "$t did something" >>"$OUT/result"
    done
}
