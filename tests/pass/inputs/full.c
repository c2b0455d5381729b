/* Full builds: values, branches, calls. */
int x = 5;
long y;
float f = 1.5f;
char *text = "abc";
extern unsigned long strlen(const char *);
extern int snprintf(char *, unsigned long, const char *, ...);
extern int strverscmp(const char *, const char *);

__attribute__((noinline)) int choose(int n)
{
    switch (n) { // @switch
    case 3:
        return 30;
    case 7:
        return 70;
    case 9:
        return x; // @nine
    default:
        return -1;
    }
}

__attribute__((noinline)) int many(int n)
{
    switch (n) { // @many
    case 1:
        return 5;
    case 2:
        return 9;
    case 5:
        return 11;
    case 8:
        return 3;
    case 13:
        return 17;
    case 20:
        return 4;
    case 33:
        return 1;
    case 40:
        return 99;
    default:
        return 0;
    }
}

int main(void)
{
    int (*volatile call)(const char *, const char *) = strverscmp;
    char out[16];
    y = x;     // @y
    f = f * 2; // @f
    if (x > y) // @if
        x = 0;
    x = choose(9) + choose(4); // @choose
    x += many(8) + many(14);
    x += (int)strlen(text);                          // @strlen
    x += strverscmp("1", "1");                       // @untraced
    x += call("2", "2");                             // @pointer
    x += snprintf(out, sizeof out, "%d %g", 7, 2.5); // @snprintf
    return x != 5 - 1 + 3 + 3 + 5;
}
