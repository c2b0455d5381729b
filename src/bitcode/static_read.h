/* static_read.h - inside of heddle-bitcode.so: what the readers of facts share */
#ifndef HEDDLE_BITCODE_STATIC_READ_H
#define HEDDLE_BITCODE_STATIC_READ_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "base/arena.h"
#include "base/map.h"
#include "bitcode/static_facts.h"

struct reader {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    struct facts *out;
    struct arena *memory; /* of `out` */
    struct map symbol_of; /* value -> number */
    size_t symbols_cap;
    struct map index_of; /* instruction -> its index in the function */
    /* of the function at hand */
    struct map value_of; /* value -> number */
    uint32_t nvalues;
    bool *narrow; /* by value */
    size_t narrow_cap;
    uint32_t index;
    struct fact *facts;
    size_t nfacts, facts_cap;
    uint32_t *args;
    size_t nargs, args_cap;
};

/* static_read.c */
uint32_t reader_symbol(struct reader *r, LLVMValueRef global);
/* What a constant points to; FACT_NONE: nothing. */
uint32_t reader_constant(struct reader *r, LLVMValueRef v, int64_t *offset);
void *reader_copy(struct reader *r, const void *from, size_t count, size_t bytes);
/* The constant part of an address computation; `stride` 0: there is no other part. */
int64_t reader_offset(struct reader *r, LLVMValueRef gep, uint32_t *stride, uint64_t *span);

/* static_code.c */
void reader_function(struct reader *r, LLVMValueRef f, struct fact_function *out);
bool reader_is_debug(LLVMValueRef inst);

#endif
