# redis (C): four I/O threads that also read, threads for fsync and free; redis-benchmark is the client
pkg="redis" deps="redis-tools"
build() {
    make -C redis/src -j"$JOBS" redis-server CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" MALLOC=libc OPT= \
        OPTIMIZATION= REDIS_CFLAGS= BUILD_TLS=no USE_SYSTEMD=no V=1
}
work() {
    local port=31379
    serve $port "$B/redis/src/redis-server" --port $port --bind 127.0.0.1 --io-threads 4 \
        --io-threads-do-reads yes --appendonly yes --save '' --dir . --lazyfree-lazy-user-flush yes || return 1
    load redis-benchmark -p $port -n "$(scaled 4000)" -c 50 -P 8 -r 10000 -q -t set,get,lpush,lrange_100 || return 1
    redis-cli -p $port llen mylist >"$OUT/result"
    redis-cli -p $port flushall >>"$OUT/result"
    redis-cli -p $port dbsize >>"$OUT/result"
    stop
}
