/* part of library_norace_tls.c */
_Thread_local int counter;

int count(void)
{
    return ++counter;
}
