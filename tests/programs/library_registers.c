// Beside library_norace_registers.c: more values in use than there are registers, at the very first
// access of each kind.
void mix(unsigned char *to, const unsigned char *from, int n);
void mix(unsigned char *to, const unsigned char *from, int n)
{
    long a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5, g = n + 6;
    for (int i = 0; i < n; i++) {
        a += from[i], b ^= a, c += b, d ^= c, e += d, f ^= e, g += f;
        to[i] = (unsigned char)(a + b + c + d + e + f + g);
    }
}
