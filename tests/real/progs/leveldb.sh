# LevelDB (C++): db_bench with four threads, background compaction, std::atomic and std::mutex
pkg="leveldb" deps="cmake libsnappy-dev"
build() {
    mkdir -p leveldb/b && cd leveldb/b
    [ -f Makefile ] || cmake .. -DCMAKE_BUILD_TYPE=None -DLEVELDB_BUILD_TESTS=OFF \
        -DLEVELDB_BUILD_BENCHMARKS=OFF -DBUILD_SHARED_LIBS=OFF -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS"
    make -j"$JOBS" leveldb
    $CXX $CFLAGS -std=c++11 -I.. -I../include -Iinclude -DLEVELDB_PLATFORM_POSIX=1 \
        ../benchmarks/db_bench.cc ../util/histogram.cc ../util/testutil.cc -o db_bench libleveldb*.a \
        $LDFLAGS -lpthread $(grep -q 'HAVE_SNAPPY 1' include/port/port_config.h && echo -lsnappy)
}
work() {
    run "$B/leveldb/b/db_bench" --db=db --threads=4 --num="$(scaled 15000)" --write_buffer_size=1048576 \
        --benchmarks=fillrandom,readrandom,overwrite >out || return 1
    grep -o '^[a-z]* *:\|([0-9]* of [0-9]* found)' out >"$OUT/result"
}
