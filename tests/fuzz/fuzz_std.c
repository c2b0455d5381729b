/* fuzz_std.c - libFuzzer target for the text format: what it prints reads as itself */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct buf text = { 0 }, again = { 0 };

    if (!fuzz_read(std_open, data, len, &text)) {
        if (fuzz_read(std_open, text.data, text.len, &again) || again.len != text.len ||
            memcmp(again.data, text.data, text.len))
            abort();
    }
    buf_release(&text);
    buf_release(&again);
    return 0;
}
