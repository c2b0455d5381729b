# pbzip2 (C++): producer and consumers around libbz2, which is built the same way
pkg="pbzip2 bzip2"
build() {
    make -C bzip2 -j"$JOBS" libbz2.a CC="$CC" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64"
    make -C pbzip2 pbzip2 CXX="$CXX" LDFLAGS="$LDFLAGS -L../bzip2" \
        CXXFLAGS="$CFLAGS -I../bzip2 -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -DUSE_STACKSIZE_CUSTOMIZATION -pthread -std=gnu++98"
}
work() {
    cp "$(input "text$(scaled 12)" text "$(scaled 12)")" in
    run "$B/pbzip2/pbzip2" -kf -p4 -b3 in || return 1
    run "$B/pbzip2/pbzip2" -dc -p4 in.bz2 >out || return 1
    cmp in out && sha256sum in.bz2 out >"$OUT/result"
}
