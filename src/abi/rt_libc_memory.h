/* rt_libc_memory.h - what functions do: allocation, streams, formats
 *
 * A part of the table; rt_libc.h says what the columns mean. */
/* clang-format off */

/* allocation: what malloc() gives is fresh (h), so is other memory (H) */
ROW("", "h0", PLAIN, I(malloc))
ROW("", "h01", PLAIN, I(calloc))
ROW("", "h", PLAIN, N(valloc) N(memalign) I(aligned_alloc) N(pvalloc))
ROW("f", "h1", REALLOC, I(realloc))
ROW("f", "h12", REALLOC, N(reallocarray))
ROW("", "-", REALLOC, N(mremap))
ROW("w", "-", HEAP_AT, I(posix_memalign))
ROW("f", "-", PLAIN, I(free) N(cfree))
ROW("f1", "-", PLAIN, N(munmap))
ROW("", "0H", MAP, N(mmap) N(mmap64) N(shmat))
ROW("", "-", PROTECT, N(mprotect) N(pkey_mprotect))
ROW("", "-", PLAIN,
    N(madvise) N(posix_madvise) N(malloc_usable_size) N(shmdt) N(mlock) N(mlock2) N(munlock)
    N(mlockall) N(munlockall) N(malloc_trim) N(malloc_stats) N(malloc_info) N(mallopt) N(mallinfo)
    N(mallinfo2) N(pkey_alloc) N(pkey_free) N(pkey_get) N(pkey_set) N(mprobe) N(getpagesize))
ROW("--w", "-", PLAIN, N(mincore))
ROW("r", "-", PLAIN, N(msync))
ROW("", "-", ANYTHING,
    N(brk) N(sbrk) N(sstk) N(remap_file_pages) N(process_madvise) N(process_mrelease) N(mcheck)
    N(mcheck_check_all) N(mcheck_pedantic) N(mtrace) N(muntrace) N(tr_break))
ROW("r$", "-", PLAIN, N(memfd_create) N(shm_open) N(shm_unlink))

/* streams: a FILE is the library's */
ROW("r$r$", "s", PLAIN, M(fopen, 2) M(fopen64, 2) N(freopen) N(freopen64) N(popen) N(setmntent))
ROW("-r$", "s", PLAIN, N(fdopen))
ROW("", "s", PLAIN, N(tmpfile) N(tmpfile64))
ROW("", "-", PLAIN,
    N(fclose) N(pclose) N(fcloseall) N(fflush) N(fflush_unlocked) M(fgetc, 1) N(fgetc_unlocked)
    M(getc, 1) N(getc_unlocked) M(getchar, 0) N(getchar_unlocked) N(getw) N(ungetc) N(fputc)
    N(fputc_unlocked) N(putc) N(putc_unlocked) N(putchar) N(putchar_unlocked) N(putw) N(feof)
    N(feof_unlocked) N(ferror) N(ferror_unlocked) N(clearerr) N(clearerr_unlocked) N(fileno)
    N(fileno_unlocked) N(fseek) N(fseeko) N(fseeko64) N(ftell) N(ftello) N(ftello64) N(rewind)
    N(flockfile) N(funlockfile) N(ftrylockfile) N(setlinebuf) N(fgetwc) N(fgetwc_unlocked)
    N(getwc) N(getwc_unlocked) N(getwchar) N(getwchar_unlocked) N(ungetwc) N(fputwc)
    N(fputwc_unlocked) N(putwc) N(putwc_unlocked) N(putwchar) N(putwchar_unlocked) N(fwide)
    N(endmntent) N(__overflow) N(__uflow) N(__fpending) N(__fpurge) N(__freadable) N(__freading)
    N(__fwritable) N(__fwriting) N(__fbufsize) N(__flbf) N(__fsetlocking) N(_flushlbf))
ROW("v12", "-", PLAIN, M(fread, 4) M(fread_unlocked, 4))
ROW("v23", "-", PLAIN, M(__fread_chk, 5) N(__fread_unlocked_chk))
ROW("s12", "-", PLAIN, M(fwrite, 4) M(fwrite_unlocked, 4))
ROW("s$", "-", PLAIN,
    M(fputs, 2) M(fputs_unlocked, 2) M(puts, 1) M(perror, 1) N(fputws) N(fputws_unlocked))
ROW("v1", "0", PLAIN, M(fgets, 3) M(fgets_unlocked, 3))
ROW("v2", "0", PLAIN, M(__fgets_chk, 4) N(__fgets_unlocked_chk))
ROW("v1%", "0", PLAIN, N(fgetws) N(fgetws_unlocked))
ROW("v", "0", PLAIN, N(gets) N(__gets_chk))
ROW("Vb", "-", HEAP_AT, M(getline, 3) M(getdelim, 4) M(__getdelim, 4))
ROW("-w", "-", PLAIN, N(fgetpos) N(fgetpos64))
ROW("-r", "-", PLAIN, N(fsetpos) N(fsetpos64))
ROW("-b", "-", KEEPS, N(setvbuf) N(setbuf) N(setbuffer))
ROW("", "-", ANYTHING, N(fmemopen) N(open_memstream) N(open_wmemstream) N(fopencookie))

/* formats: what %n writes the call says itself */
ROW("r$r*", "-", PLAIN, V(printf, 1) N(wprintf))
ROW("-r$r*", "-", PLAIN,
    V(fprintf, 2) V(dprintf, 2) N(fwprintf) V(__printf_chk, 2) N(__wprintf_chk) N(err) N(errx)
    N(warn) N(warnx) N(syslog))
ROW("wr$r*", "-", PLAIN, V(sprintf, 2))
ROW("w1-r$r*", "-", PLAIN, V(snprintf, 3))
ROW("w1%-r$r*", "-", PLAIN, N(swprintf))
ROW("wr$r*", "-", HEAP_AT, V(asprintf, 2) N(__asprintf))
ROW("r$R", "-", PLAIN, M(vprintf, 2) N(vwprintf) N(vwarn) N(vwarnx))
ROW("-r$R", "-", PLAIN,
    M(vfprintf, 3) M(vdprintf, 3) N(vfwprintf) N(vsyslog) N(verr) N(verrx) M(__vprintf_chk, 3)
    N(__vwprintf_chk))
ROW("wr$R", "-", PLAIN, M(vsprintf, 3))
ROW("w1-r$R", "-", PLAIN, M(vsnprintf, 4))
ROW("w1%-r$R", "-", PLAIN, N(vswprintf))
ROW("wr$R", "-", HEAP_AT, M(vasprintf, 3))
ROW("--r$r*", "-", PLAIN,
    V(__fprintf_chk, 3) V(__dprintf_chk, 3) N(__fwprintf_chk) N(__syslog_chk) N(error))
ROW("w--r$r*", "-", PLAIN, V(__sprintf_chk, 4))
ROW("w1---r$r*", "-", PLAIN, V(__snprintf_chk, 5))
ROW("w1%---r$r*", "-", PLAIN, N(__swprintf_chk))
ROW("w-r$r*", "-", HEAP_AT, V(__asprintf_chk, 3))
ROW("w-r$R", "-", HEAP_AT, M(__vasprintf_chk, 4))
ROW("--r$R", "-", PLAIN,
    M(__vfprintf_chk, 4) M(__vdprintf_chk, 4) N(__vfwprintf_chk) N(__vsyslog_chk))
ROW("w--r$R", "-", PLAIN, M(__vsprintf_chk, 5))
ROW("w1---r$R", "-", PLAIN, M(__vsnprintf_chk, 6))
ROW("w1%---r$R", "-", PLAIN, N(__vswprintf_chk))
ROW("--r$-r$r*", "-", PLAIN, N(error_at_line))
ROW("-r$", "-", PLAIN, N(psignal))
ROW("rr$", "-", PLAIN, N(psiginfo))
ROW("r$-w", "-", PLAIN, N(parse_printf_format))
ROW("r$w*", "-", SCAN,
    V(scanf, 1) V(__isoc99_scanf, 1) V(__isoc23_scanf, 1) N(wscanf) N(__isoc99_wscanf)
    N(__isoc23_wscanf))
ROW("-r$w*", "-", SCAN,
    V(fscanf, 2) V(__isoc99_fscanf, 2) V(__isoc23_fscanf, 2) N(fwscanf) N(__isoc99_fwscanf)
    N(__isoc23_fwscanf))
ROW("r$r$w*", "-", SCAN,
    V(sscanf, 2) V(__isoc99_sscanf, 2) V(__isoc23_sscanf, 2) N(swscanf) N(__isoc99_swscanf)
    N(__isoc23_swscanf))
ROW("r$W", "-", SCAN,
    M(vscanf, 2) M(__isoc99_vscanf, 2) M(__isoc23_vscanf, 2) N(vwscanf) N(__isoc99_vwscanf)
    N(__isoc23_vwscanf))
ROW("-r$W", "-", SCAN,
    M(vfscanf, 3) M(__isoc99_vfscanf, 3) M(__isoc23_vfscanf, 3) N(vfwscanf) N(__isoc99_vfwscanf)
    N(__isoc23_vfwscanf))
ROW("r$r$W", "-", SCAN,
    M(vsscanf, 3) M(__isoc99_vsscanf, 3) M(__isoc23_vsscanf, 3) N(vswscanf) N(__isoc99_vswscanf)
    N(__isoc23_vswscanf))
ROW("", "-", ANYTHING,
    N(fmtmsg) N(addseverity) N(printf_size) N(printf_size_info) N(register_printf_function)
    N(register_printf_modifier) N(register_printf_specifier) N(register_printf_type)
    N(obstack_free) N(obstack_printf) N(obstack_vprintf))

/* clang-format on */
