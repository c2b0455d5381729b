// shim.cpp - registers the instrumenter with clang's pass pipeline
//
// C++, since LLVM 19 has no C interface for plugins. Nearly everything else is C on
// LLVM-C. libLLVM is not linked in; the compiler that loads the plugin provides it.
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"

extern "C" int pass_run(LLVMModuleRef module); // pass.c; both return 1 if the module changed
extern "C" int pass_begin(LLVMModuleRef module);
extern "C" bool pass_is_production();
extern "C" void production_code_start(); // production_code.cpp

namespace
{
struct Instrument : llvm::PassInfoMixin<Instrument> {
    llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &)
    {
        return pass_run(wrap(&m)) ? llvm::PreservedAnalyses::none()
                                  : llvm::PreservedAnalyses::all();
    }
    static bool isRequired() // also at -O0
    {
        return true;
    }
};

struct Begin : llvm::PassInfoMixin<Begin> {
    llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &)
    {
        return pass_begin(wrap(&m)) ? llvm::PreservedAnalyses::none()
                                    : llvm::PreservedAnalyses::all();
    }
    static bool isRequired()
    {
        return true;
    }
};

// Where a loop changes a variable under a condition, LICM loads it once before the loop, keeps it in a
// register, and leaves the stores where they are. A thread for which the condition never holds would
// then read what the program does not read: a false alarm. To leave such a load out is no way, since its
// value may decide in the loop what the thread does. So such variables stay in memory.
void inventNoLoads()
{
    auto &options = llvm::cl::getRegisteredOptions();
    auto at = options.find("disable-licm-promotion");
    if (at != options.end() && !at->second->getNumOccurrences())
        at->second->addOccurrence(0, at->first(), "true");
}

void registerPass(llvm::PassBuilder &builder)
{
    if (!pass_is_production())
        inventNoLoads();
    // After inlining and simplification, before vectorising. The pipelines of -O0 and the compile
    // steps of -flto and -flto=thin have this point too; pass_run() knows a module it has done.
    // No-ops of production builds come last: nothing is to be optimised around them.
    if (pass_is_production()) {
        production_code_start();
        builder.registerOptimizerLastEPCallback(
            [](llvm::ModulePassManager &passes, auto) { passes.addPass(Instrument()); });
    } else
        builder.registerOptimizerEarlyEPCallback(
            [](llvm::ModulePassManager &passes, auto) { passes.addPass(Instrument()); });
    builder.registerPipelineStartEPCallback(
        [](llvm::ModulePassManager &passes, auto) { passes.addPass(Begin()); });
    builder.registerPipelineParsingCallback( // for opt -passes=heddle
        [](llvm::StringRef name, llvm::ModulePassManager &passes, auto) {
            if (name != "heddle")
                return false;
            passes.addPass(Instrument());
            return true;
        });
}
} // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo()
{
    return { LLVM_PLUGIN_API_VERSION, "heddle", HEDDLE_VERSION, registerPass };
}
