# Apache httpd (C): event MPM; APR and APR-util built the same way; ab is the client
pkg="apr apr-util apache2"
deps="apache2-utils libpcre2-dev libexpat1-dev libtool autoconf flex bison python3"
build() {
    local prefix=$PWD/inst
    [ -f "$prefix/bin/apr-1-config" ] || (
        cd apr
        [ -f configure ] || ./buildconf
        [ -f Makefile ] || ./configure -q --prefix="$prefix" --enable-threads
        make -j"$JOBS" && make -s install
    )
    [ -f "$prefix/bin/apu-1-config" ] || (
        cd apr-util
        [ -f configure ] || ./buildconf --with-apr=../apr
        [ -f Makefile ] || ./configure -q --prefix="$prefix" --with-apr="$prefix" --without-pgsql \
            --without-mysql --without-sqlite3 --without-odbc
        make -j"$JOBS" && make -s install
    )
    cd apache2
    [ -f configure ] || ./buildconf --with-apr=../apr --with-apr-util=../apr-util
    [ -f Makefile ] || ./configure -q --prefix="$prefix" --with-apr="$prefix" --with-apr-util="$prefix" \
        --with-mpm=event --enable-mods-static=few --disable-lua --disable-ssl --disable-proxy
    sed -i 's/= BUILD_DATETIME/= "now"/; s/ PLATFORM / "here" /' server/buildmark.c
    make -j"$JOBS" && make -s install
}
work() {
    mkdir -p htdocs logs
    head -c 8000 /dev/zero >htdocs/a.bin
    echo hello >htdocs/index.html
    cat >conf <<END
ServerRoot $PWD
ServerName localhost
Listen 127.0.0.1:31080
TypesConfig /dev/null
PidFile $PWD/logs/pid
DefaultRuntimeDir $PWD/logs
$([ "$(id -u)" = 0 ] && printf 'User daemon\nGroup daemon')
DocumentRoot $PWD/htdocs
ErrorLog $PWD/logs/err
LogFormat "%h %t %r %>s %b" c
BufferedLogs On
CustomLog $PWD/logs/acc c
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
<Location /status>
SetHandler server-status
</Location>
ExtendedStatus On
END
    serve 31080 "$B/inst/bin/httpd" -X -f "$PWD/conf" || return 1
    load ab -q -n "$(scaled 8000)" -c 16 -k http://127.0.0.1:31080/a.bin || return 1
    load ab -q -n "$(scaled 4000)" -c 16 http://127.0.0.1:31080/index.html || return 1
    load ab -q -n 100 -c 4 http://127.0.0.1:31080/status || return 1
    ask 31080 'GET /index.html HTTP/1.0\r\n\r\n' | sed '/^Date:\|^Last-Mod\|^ETag\|^Server:/d' >"$OUT/result"
    stop
}
