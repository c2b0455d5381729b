/* fuzz_csv.c - libFuzzer target for the source of the format "csv" */
#include "fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct buf text = { 0 };

    fuzz_read(csv_open, data, len, &text);
    buf_release(&text);
    return 0;
}
