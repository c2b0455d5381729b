# lbzip2 (C): a compressor with a scheduler of its own
pkg="lbzip2"
build() {
    cd lbzip2
    [ -f Makefile ] || ./configure -q ac_cv_func_malloc_0_nonnull=yes
    # its old gnulib does not know glibc 2.28 and later
    grep -q _IO_EOF_SEEN lib/fseterr.c || {
        sed -i 's/_IO_ftrylockfile/_IO_EOF_SEEN/' lib/*.c
        echo '#define _IO_IN_BACKUP 0x100' >>lib/stdio-impl.h
    }
    make -j"$JOBS"
}
work() {
    cp "$(input "text$(scaled 12)" text "$(scaled 12)")" in
    run "$B/lbzip2/src/lbzip2" -kf -n4 in || return 1
    run "$B/lbzip2/src/lbzip2" -dc -n4 in.bz2 >out || return 1
    cmp in out && sha256sum in.bz2 out >"$OUT/result"
}
