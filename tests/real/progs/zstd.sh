# zstd -T4 (C): a compressor with a table of jobs, at a fast and a slow level
pkg="libzstd"
build() {
    make -C libzstd/programs -j"$JOBS" zstd CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS -pthread" \
        HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 ZSTD_NO_ASM=1 V=1
}
work() {
    local zstd=$B/libzstd/programs/zstd
    cp "$(input "text$(scaled 16)" text "$(scaled 16)")" in
    run "$zstd" -q -f -T4 -3 -B1M in -o a.zst || return 1
    run "$zstd" -q -f -T4 -9 -B1M in -o b.zst || return 1
    run "$zstd" -q -f -d b.zst -o out || return 1
    cmp in out && sha256sum a.zst b.zst out >"$OUT/result"
}
