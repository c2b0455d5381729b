// bitcode.cpp - the module as bitcode without debug information, and compressing bytes
//
// Three quarters of a module's bitcode are debug information, which no reader of ours looks at:
// the site table has what they need. Copying the module to strip the copy would copy that, too; so
// what leads to it is taken off for the time of writing, and put back. What is left out besides:
// descriptions of loops, which hold lines; marks of assignments; types of what is allocated.
//
// C++, because LLVM-C has neither.
#include "llvm-c/Core.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

extern "C" {
#include "pass/bitcode.h"
}

namespace
{
constexpr const char *left_out[] = { "llvm.loop", "DIAssignID", "heapallocsite" };

struct Line {
    llvm::Instruction *inst;
    llvm::DebugLoc loc;
    llvm::DbgMarker *marker;
    llvm::MDNode *nodes[std::size(left_out)];
};

// Debug information is off the module while this lives.
class Stripped
{
  public:
    explicit Stripped(llvm::Module &m)
        : module(m)
    {
        for (size_t k = 0; k < std::size(left_out); k++)
            kinds[k] = m.getMDKindID(left_out[k]);
        for (llvm::Function &f : m) {
            functions.push_back({ &f, f.getSubprogram() });
            f.setSubprogram(nullptr);
            for (llvm::BasicBlock &b : f)
                for (llvm::Instruction &i : b)
                    takeOff(i);
        }
        for (llvm::GlobalVariable &g : m.globals()) {
            g.getDebugInfo(variables.emplace_back(&g, Expressions()).second);
            g.eraseMetadata(llvm::LLVMContext::MD_dbg);
        }
        if (llvm::NamedMDNode *list = m.getNamedMetadata("llvm.dbg.cu")) {
            units.assign(list->op_begin(), list->op_end());
            list->eraseFromParent();
        }
    }

    ~Stripped()
    {
        for (auto &[f, subprogram] : functions)
            f->setSubprogram(subprogram);
        for (Line &l : lines)
            putBack(l);
        for (auto &[g, expressions] : variables)
            for (llvm::DIGlobalVariableExpression *e : expressions)
                g->addDebugInfo(e);
        if (!units.empty()) {
            llvm::NamedMDNode *list = module.getOrInsertNamedMetadata("llvm.dbg.cu");
            for (llvm::MDNode *u : units)
                list->addOperand(u);
        }
    }

    Stripped(const Stripped &) = delete;
    Stripped &operator=(const Stripped &) = delete;

  private:
    using Expressions = llvm::SmallVector<llvm::DIGlobalVariableExpression *, 1>;

    void takeOff(llvm::Instruction &i)
    {
        Line l = { &i, i.getDebugLoc(), i.DebugMarker, {} };
        bool any = l.loc || l.marker;
        for (size_t k = 0; i.hasMetadataOtherThanDebugLoc() && k < std::size(left_out); k++) {
            l.nodes[k] = i.getMetadata(kinds[k]);
            any |= l.nodes[k] != nullptr;
            i.setMetadata(kinds[k], nullptr);
        }
        i.setDebugLoc(llvm::DebugLoc());
        i.DebugMarker = nullptr;
        if (any)
            lines.push_back(std::move(l));
    }

    void putBack(Line &l)
    {
        l.inst->setDebugLoc(l.loc);
        l.inst->DebugMarker = l.marker;
        for (size_t k = 0; k < std::size(left_out); k++)
            if (l.nodes[k])
                l.inst->setMetadata(kinds[k], l.nodes[k]);
    }

    llvm::Module &module;
    unsigned kinds[std::size(left_out)];
    std::vector<Line> lines;
    std::vector<std::pair<llvm::Function *, llvm::DISubprogram *>> functions;
    std::vector<std::pair<llvm::GlobalVariable *, Expressions>> variables;
    std::vector<llvm::MDNode *> units;
};
} // namespace

extern "C" void bitcode_write(LLVMModuleRef module, struct bytes *out)
{
    Stripped stripped(*llvm::unwrap(module));
    llvm::SmallVector<char, 0> code;
    llvm::raw_svector_ostream stream(code);
    llvm::WriteBitcodeToFile(*llvm::unwrap(module), stream);
    bytes_add(out, code.data(), code.size());
}

extern "C" size_t pack(struct bytes *out, const void *data, size_t n)
{
    // 3: the next better levels take twice the time for a twentieth of the bytes
    constexpr int level = 3;
    llvm::ArrayRef<uint8_t> all(static_cast<const uint8_t *>(data), n), best = all;
    llvm::SmallVector<uint8_t, 0> packed;
    if (llvm::compression::zstd::isAvailable())
        llvm::compression::zstd::compress(all, packed, level);
    if (!packed.empty() && packed.size() < n)
        best = packed;
    bytes_add(out, best.data(), best.size());
    return best.size();
}
