/* bitcode_inside.h - inside of heddle-bitcode.so: what its files share */
#ifndef HEDDLE_BITCODE_BITCODE_INSIDE_H
#define HEDDLE_BITCODE_BITCODE_INSIDE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "base/arena.h"
#include "base/map.h"
#include "bitcode/code.h"

struct bitcode {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    struct arena memory; /* of all that is handed out */
    LLVMValueRef *functions;
    size_t nfunctions, functions_cap;
    struct code **codes;    /* of functions, NULL: not decoded yet */
    struct map function_of; /* value -> number */
    struct map symbol_of;
    struct symbol_entry {
        LLVMValueRef value;
        struct code_symbol symbol;
        struct code_data *data;
    } **symbols;
    size_t nsymbols, symbols_cap;
    bool all_traced; /* own.c */
};

/* A number in a value of some type. */
struct lane {
    uint64_t offset; /* bytes in memory */
    uint16_t width;  /* bits, at most EXPR_WIDTH_MAX */
    bool odd;        /* wider, or not at whole bytes: not followed */
    LLVMTypeRef type;
};
struct lanes {
    struct lane *at;
    size_t count, cap;
};

enum { LANES_MAX = 4096 };

/* Appends the lanes of a type; none for void, metadata and the like. */
void lanes_of(struct bitcode *b, LLVMTypeRef type, uint64_t offset, struct lanes *out);

uint32_t symbol_number(struct bitcode *b, LLVMValueRef value);
/* A constant's lane. */
struct code_const constant_of(struct bitcode *b, LLVMValueRef value, unsigned width);
/* Appends the constants of a value's lanes. */
struct const_list {
    struct code_const *at;
    size_t count, cap;
};
void constants_of(struct bitcode *b, LLVMValueRef value, LLVMTypeRef type, struct const_list *out);
uint32_t block_number(LLVMValueRef function, LLVMBasicBlockRef block);

/* The offset of a GEP whose indices are constant, else what is constant of it; calls `add` for the
 * others with the factor. */
int64_t gep_offset(struct bitcode *b, LLVMValueRef gep,
                   void (*add)(void *arg, LLVMValueRef index, int64_t factor), void *arg);

struct code *decode_function(struct bitcode *b, uint32_t number);
bool is_debug_call(LLVMValueRef inst);
/* own.c: has the module only code that is traced; can nobody else name the variable? */
bool bitcode_is_all_traced(LLVMModuleRef module);
bool bitcode_is_own(struct bitcode *b, LLVMValueRef variable);

void *bitcode_copy(struct bitcode *b, const void *from, size_t count, size_t bytes);

/* intrinsics.c: what a call of an intrinsic is; I_CALL: it is none. */
struct intrinsic {
    enum inst_op op;
    uint8_t sub;
    bool nothing; /* no instruction at all */
};
struct intrinsic intrinsic_of(LLVMValueRef call);

#endif
