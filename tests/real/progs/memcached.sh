# memcached (C): four workers; memcslap is the client
pkg="memcached" deps="libevent-dev libmemcached-tools"
build() {
    cd memcached
    [ -f Makefile ] || ./configure -q --disable-docs --disable-sasl
    make -j"$JOBS" memcached
}
work() {
    local port=31211 slap="memcslap --servers=127.0.0.1:31211 --concurrency=8 --execute-number=$(scaled 4000)"
    serve $port "$B/memcached/memcached" -u "$(id -un)" -l 127.0.0.1 -p $port -t 4 -m 64 -c 1024 || return 1
    load $slap --test=set || return 1
    load $slap --initial-load=4000 --test=get || return 1
    ask $port 'set k 0 0 5\r\nhello\r\nget k\r\nincr n 1\r\nquit\r\n' >"$OUT/result"
    stop
}
