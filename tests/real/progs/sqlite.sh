# SQLite (C): its own stress program for threads, serialized mode
pkg="sqlite3" deps="tcl"
build() {
    cd sqlite3
    # tools that only make the amalgamation need no instrumentation
    [ -f Makefile ] || CC=cc CFLAGS=-O1 LDFLAGS= ./configure --disable-tcl --disable-readline
    [ -f sqlite3.c ] || make sqlite3.c
    # it takes ten tries for a deadlock; on a busy machine, or a recorded program, ten are nothing
    sed -i 's/nRetry<10 /nRetry<100000 /' test/threadtest4.c
    $CC $CFLAGS -DSQLITE_THREADSAFE=1 -I. test/threadtest4.c sqlite3.c -o tt4 $LDFLAGS -ldl -lpthread -lm
}
work() {
    run "$B/sqlite3/tt4" -serialized 4 >out || return 1
    # which thread did how much depends on luck; that all of them ended well does not
    grep -c '^Worker .* finished\|^worker .* finished' out >"$OUT/result" || true
    tail -n 1 out
}
