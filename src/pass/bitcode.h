/* bitcode.h - the module as bitcode, and compressing (bitcode.cpp) */
#ifndef HEDDLE_PASS_BITCODE_H
#define HEDDLE_PASS_BITCODE_H

#include <llvm-c/Types.h>

#include "pass/util.h"

/* Appends the module's bitcode without debug information; the module is as before. */
void bitcode_write(LLVMModuleRef module, struct bytes *out);
/* Appends the bytes as a zstd frame; as they are where that would not be smaller, or the compiler's
 * LLVM has no zstd. Returns how many bytes were appended. */
size_t pack(struct bytes *out, const void *data, size_t n);

#endif
