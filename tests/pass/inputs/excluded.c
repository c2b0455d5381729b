int shared;
void traced(void)
{
    shared++;
}
void hot_path(void)
{
    shared++;
}
__attribute__((disable_sanitizer_instrumentation)) void disabled(void)
{
    shared++;
}
__attribute__((naked)) void bare(void)
{
    __asm__("ret");
}
int main(void)
{
    traced();
    hot_path();
    disabled();
    bare();
    return shared - 3;
}
