# xz -T4 (C): block-parallel compressor and decompressor
pkg="xz-utils" deps="autoconf automake libtool autopoint gettext"
build() {
    cd xz-utils
    [ -f configure ] || ./autogen.sh --no-po4a
    [ -f Makefile ] || ./configure -q --disable-shared --disable-nls --disable-doc --disable-scripts --disable-assembler
    make -j"$JOBS"
}
work() {
    cp "$(input "text$(scaled 12)" text "$(scaled 12)")" in
    run "$B/xz-utils/src/xz/xz" -kf -T4 -1 --block-size=1MiB in || return 1
    run "$B/xz-utils/src/xz/xz" -dc -T4 in.xz >out || return 1
    cmp in out && sha256sum in.xz out >"$OUT/result"
}
