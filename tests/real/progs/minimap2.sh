# minimap2 (C): sequence aligner; work stealing over __sync atomics, a pipeline of three stages
pkg="minimap2" deps="zlib1g-dev libsimde-dev"
build() {
    make -C minimap2 -j"$JOBS" minimap2 CC="$CC" CFLAGS="$CFLAGS" LIBS="-lm -lz -lpthread $LDFLAGS"
}
work() {
    local genome reads
    genome=$(input genome.fa genome 1000000)
    reads=$(input "reads$(scaled 2500).fa" reads "$genome" "$(scaled 2500)" 2000)
    run "$B/minimap2/minimap2" -t4 -K 200k -a "$genome" "$reads" >out.sam || return 1
    grep -v '^@PG' out.sam | sha256sum >"$OUT/result"
}
