# HAProxy (C): four threads, its own spinlocks and lock-free lists; ab is the client
pkg="haproxy" deps="apache2-utils"
build() {
    make -C haproxy -j"$JOBS" haproxy TARGET=linux-glibc USE_SYSTEMD= USE_LIBCRYPT= CC="$CC" LD="$CC" \
        CPU_CFLAGS="$CFLAGS" DEBUG_CFLAGS= LDFLAGS="$LDFLAGS" USE_BACKTRACE= V=1
}
work() {
    cat >cfg <<END
global
  nbthread 4
  maxconn 200
  stats socket $PWD/sock level admin
defaults
  mode http
  timeout client 20s
  timeout connect 5s
  timeout server 20s
frontend f
  bind 127.0.0.1:31081
  default_backend b
backend b
  balance roundrobin
  stick-table type ip size 1k expire 30s store http_req_rate(10s),conn_cur
  http-request track-sc0 src
  server s1 127.0.0.1:31082
  server s2 127.0.0.1:31083
frontend g
  bind 127.0.0.1:31082
  bind 127.0.0.1:31083
  http-request return status 200 content-type text/plain string ok
END
    serve 31081 "$B/haproxy/haproxy" -db -f cfg || return 1
    load ab -q -n "$(scaled 6000)" -c 16 -k http://127.0.0.1:31081/ || return 1
    load ab -q -n "$(scaled 3000)" -c 16 http://127.0.0.1:31081/ || return 1
    ask 31081 'GET / HTTP/1.0\r\n\r\n' >"$OUT/result"
    stop
}
