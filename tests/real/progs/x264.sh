# x264 (C): frame-threaded video encoder; its C code, without the assembly
pkg="x264"
build() {
    cd x264
    [ -f config.mak ] || ./configure --disable-asm --disable-lavf --disable-swscale --disable-ffms \
        --disable-gpac --disable-lsmash --disable-opencl --disable-avs \
        --extra-cflags="$CFLAGS" --extra-ldflags="$LDFLAGS"
    # the same optimisation as everything else, and arithmetic that does not depend on it
    sed -i 's/-O3 -ffast-math//; s/ -s$//; s/ -O[23]//' config.mak
    make -j"$JOBS" x264
}
work() {
    run "$B/x264/x264" --threads 4 --preset medium --quiet -o out.264 \
        "$(input "v$(scaled 24).y4m" y4m 352 288 "$(scaled 24)")" || return 1
    # the encoder writes its version and options into the stream, not its compiler
    sha256sum out.264 >"$OUT/result"
}
