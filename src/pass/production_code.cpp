// production_code.cpp - production builds: where in the machine code the marked accesses ended up
//
// production.c marks accesses (alias scopes, "heddle:SITE:FLAGS:BYTES"), which changes nothing of
// what the compiler does. When it prints a function, this file finds the instructions that make
// these accesses by their memory operands, and makes them places that the runtime can patch:
//
//     hot:   prefixes; mov 8(%rax), %ebx      ◀── becomes  jmp stub
//     end:
//     stub:  lea -128(%rsp), %rsp; push %rdi; lea 8(%rax), %rdi; push %rsi; lea entry, %rsi
//            call *__heddle_site; pop %rsi; pop %rdi; lea 128(%rsp), %rsp
//            mov 8(%rax), %ebx; jmp end
//
// An instruction that is shorter than a jump gets ignored prefixes (3e, as assemblers use them for
// alignment): no instruction more is executed. It never begins at 7 mod 8 (patch_text.c).
// Calls and jumps through memory get a no-op before them instead. Stubs stand behind the code of
// the file, in the same section, with unwind tables of their own.
//
// The compiler may merge accesses, or lose track of what one is: such a site has no place. C++,
// since LLVM has no C interface for this; the hook is the one for debug information of LLVM's
// users.
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/DebugHandlerBase.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDwarf.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCSectionELF.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"

#include <cstdio>

extern "C" void production_code_start(); // shim.cpp

using namespace llvm;

namespace
{
constexpr unsigned jumpBytes = 5, stubPushes = 128 + 8; // below the stack pointer at the lea
constexpr unsigned HitSite = 1 << 14, HitMore = 1 << 15, HitBytesShift = 16,
                   HitDeltaShift = 24; // abi.h

// A marked access, and where it begins in bytes from the instruction's memory operand.
struct Site {
    unsigned index, flags, bytes, delta;
    bool write() const
    {
        return flags & 1;
    }
};

// Of the function as the code generator got it.
struct Access {
    Site site;
    const Instruction *inst;
    const Value *base; // address: base + offset
    int64_t offset;
};

// What one memory operand of an instruction says.
struct Touch {
    const MachineInstr *mi;
    bool write;
    int64_t offset, bytes; // from its base
};

struct Place {
    const MachineInstr *mi;
    bool nop;   // before the instruction, instead of the instruction itself
    int memory; // first of the five operands
    SmallVector<Site, 2> sites;
    MCSymbol *start, *end;
};

bool parse(const Metadata *scope, Site &s)
{
    auto *node = dyn_cast_or_null<MDNode>(scope);
    auto *text = node && node->getNumOperands() ? dyn_cast<MDString>(node->getOperand(0)) : nullptr;
    s.delta = 0;
    return text && sscanf(text->getString().str().c_str(), "heddle:%u:%u:%u", &s.index, &s.flags,
                          &s.bytes) == 3;
}

class Code
{
  public:
    explicit Code(AsmPrinter *a) : out(*a)
    {
    }
    void beginFunction(const MachineFunction &f);
    void endFunction();
    void beginInstruction(const MachineInstr &mi);
    void endInstruction();

  private:
    AsmPrinter &out;
    const MachineFunction *function = nullptr;
    SmallVector<Access, 0> accesses;
    DenseMap<unsigned, size_t> bySite;
    DenseSet<unsigned> found; // sites that have a place
    DenseMap<const MachineInstr *, SmallVector<Site, 2>> sites;
    DenseMap<const Value *, SmallVector<Touch, 4>> touches; // by base
    SmallVector<Place, 0> places;
    MCSectionELF *text =
        nullptr;       // of the places; at a function's end it may be that of jump tables
    bool open = false; // places.back() still needs its end
    unsigned lea = 0, rdi = 0, rsp = 0, rbp = 0;

    void findNames();
    void list(const Instruction &i);
    void look(const MachineInstr &mi, const MachineMemOperand &m);
    void adopt(const Access &a);
    void add(const MachineInstr &mi, Site s);
    MCSymbol *label();
    const MCExpr *distance(MCSymbol *from, MCSymbol *to, int more = 0);
    void bytes(StringRef b)
    {
        out.OutStreamer->emitBytes(b);
    }
    void pad(MCSymbol *from, MCSymbol *to);
    void relative(MCSymbol *to);
    void emitAddress(const Place &p);
    void emitStub(const Place &p, MCSymbol *entry);
    void emitUnwinding();
    void emitEntries(const Place &p, MCSymbol *entry, MCSymbol *stub);
};

// ---- which instructions ----

int memoryOperand(const MachineInstr &mi)
{
    ArrayRef<MCOperandInfo> operands = mi.getDesc().operands();
    for (unsigned i = 0; i + 5 <= operands.size() && i + 5 <= mi.getNumOperands(); i++)
        if (operands[i].OperandType == MCOI::OPERAND_MEMORY)
            return mi.getOperand(i + 4).isReg() && !mi.getOperand(i + 4).getReg() ? (int)i : -1;
    return -1;
}

void Code::list(const Instruction &i)
{
    MDNode *scopes = i.getMetadata(LLVMContext::MD_alias_scope);
    if (!scopes)
        return;
    for (const MDOperand &o : scopes->operands()) {
        Access a;
        if (!parse(o, a.site))
            continue;
        const Value *pointer = getLoadStorePointerOperand(&i);
        if (auto *m = dyn_cast<MemIntrinsic>(&i))
            pointer = a.site.write() ? m->getRawDest() : cast<MemTransferInst>(m)->getRawSource();
        APInt offset(64, 0);
        a.inst = &i;
        a.base = pointer->stripAndAccumulateConstantOffsets(i.getDataLayout(), offset, true);
        a.offset = offset.getSExtValue();
        bySite[a.site.index] = accesses.size();
        accesses.push_back(a);
    }
}

void Code::add(const MachineInstr &mi, Site s)
{
    found.insert(s.index);
    if (none_of(sites[&mi], [&](const Site &t) { return t.index == s.index; }))
        sites[&mi].push_back(s);
}

// What of the access the instruction makes; false: nothing, as far as one can see.
bool overlap(const Access &a, const Touch &t, Site &s)
{
    int64_t from = std::max(a.offset, t.offset);
    int64_t to = std::min(a.offset + (int64_t)a.site.bytes, t.offset + t.bytes);
    s = a.site;
    s.delta = (unsigned)(from - t.offset);
    s.bytes = (unsigned)(to - from);
    return a.site.write() == t.write && from < to;
}

// A memory operand carries the marks of all accesses that became this one. Without a common base
// the address must be the mark's own: it is not if there are more bytes than the access has.
void Code::look(const MachineInstr &mi, const MachineMemOperand &m)
{
    uint64_t size = m.getSize().hasValue() ? m.getSize().getValue().getKnownMinValue() : 0;
    if (!size || size > 64)
        return;
    APInt offset(64, 0);
    const Value *base = m.getValue();
    if (base)
        base = base->stripAndAccumulateConstantOffsets(function->getDataLayout(), offset, true);
    Touch t = { &mi, m.isStore(), offset.getSExtValue() + m.getOffset(), (int64_t)size };
    if (base)
        touches[base].push_back(t);
    MDNode *scopes = m.getAAInfo().Scope;
    for (unsigned i = 0; scopes && i < scopes->getNumOperands(); i++) {
        Site s;
        auto at = parse(scopes->getOperand(i), s) ? bySite.find(s.index) : bySite.end();
        if (at == bySite.end())
            continue;
        const Access &a = accesses[at->second];
        s.bytes = (unsigned)std::min<uint64_t>(s.bytes, size);
        if (a.base == base ? overlap(a, t, s) : s.write() == t.write && size <= a.site.bytes)
            add(mi, s);
    }
}

// The compiler dropped the mark: it does when locals share memory, when it makes one access of
// several neighbours, and of two paths with the same access. Then instructions that access the
// same bytes by the same pointer make this one: of the same position in the source, else of the
// same block, else of the function.
void Code::adopt(const Access &a)
{
    SmallVector<const Touch *, 4> best[3];
    for (const Touch &t : touches[a.base]) {
        Site s;
        if (!overlap(a, t, s))
            continue;
        bool block = t.mi->getParent()->getBasicBlock() == a.inst->getParent();
        bool position = t.mi->getDebugLoc() == a.inst->getDebugLoc();
        best[position ? 0 : block ? 1 : 2].push_back(&t);
    }
    auto &chosen = !best[0].empty() ? best[0] : !best[1].empty() ? best[1] : best[2];
    for (const Touch *t : chosen) {
        Site s;
        overlap(a, *t, s);
        add(*t->mi, s);
    }
}

void Code::beginFunction(const MachineFunction &f)
{
    function = &f;
    accesses.clear();
    bySite.clear();
    found.clear();
    sites.clear();
    touches.clear();
    places.clear();
    for (const BasicBlock &b : f.getFunction())
        for (const Instruction &i : b)
            list(i);
    if (accesses.empty())
        return;
    for (const MachineBasicBlock &b : f)
        for (const MachineInstr &mi : b.instrs())
            if (!mi.isDebugInstr() && !mi.isInlineAsm() && memoryOperand(mi) >= 0)
                for (const MachineMemOperand *m : mi.memoperands())
                    look(mi, *m);
    DenseSet<unsigned> exact = found;
    for (const Access &a : accesses)
        if (!exact.contains(a.site.index))
            adopt(a);
}

void Code::beginInstruction(const MachineInstr &mi)
{
    auto marked = sites.find(&mi);
    if (marked == sites.end())
        return;
    Place p = { &mi, false, memoryOperand(mi), marked->second, nullptr, nullptr };
    p.nop = mi.isCall() || mi.isTerminator() || mi.isPseudo() || mi.isBundle();
    MCStreamer &s = *out.OutStreamer;
    text = cast<MCSectionELF>(s.getCurrentSectionOnly());
    p.start = label();
    p.end = label();
    s.emitValueToAlignment(Align(8), p.nop ? 0x90 : 0x3e, 1, 1);
    s.emitLabel(p.start);
    if (p.nop) {
        bytes(StringRef("\x0f\x1f\x44\0\0", jumpBytes));
        s.emitLabel(p.end);
    } else {
        MCSymbol *instruction = label();
        pad(instruction, p.end);
        s.emitLabel(instruction);
        open = true;
    }
    places.push_back(p);
}

void Code::endInstruction()
{
    if (open)
        out.OutStreamer->emitLabel(places.back().end);
    open = false;
}

// ---- pieces of assembly ----

MCSymbol *Code::label()
{
    return out.OutContext.createTempSymbol("heddle");
}

const MCExpr *Code::distance(MCSymbol *from, MCSymbol *to, int more)
{
    MCContext &c = out.OutContext;
    const MCExpr *e = MCBinaryExpr::createSub(MCSymbolRefExpr::create(to, c),
                                              MCSymbolRefExpr::create(from, c), c);
    return more ? MCBinaryExpr::createAdd(e, MCConstantExpr::create(more, c), c) : e;
}

// As many prefixes as the instruction between the labels lacks: comparisons are -1 where true.
void Code::pad(MCSymbol *from, MCSymbol *to)
{
    MCContext &c = out.OutContext;
    const MCExpr *lacks =
        MCBinaryExpr::createSub(MCConstantExpr::create(jumpBytes, c), distance(from, to), c);
    const MCExpr *some = MCBinaryExpr::createGT(lacks, MCConstantExpr::create(0, c), c);
    const MCExpr *n = MCBinaryExpr::createMul(MCUnaryExpr::createMinus(some, c), lacks, c);
    out.OutStreamer->emitFill(*n, 0x3e);
}

// The last four bytes of an instruction that refers to `to`.
void Code::relative(MCSymbol *to)
{
    MCSymbol *here = label();
    out.OutStreamer->emitLabel(here);
    out.OutStreamer->emitValue(distance(here, to, -4), 4);
}

// ---- stubs ----

void Code::findNames()
{
    const TargetInstrInfo *t = function->getSubtarget().getInstrInfo();
    const TargetRegisterInfo *r = function->getSubtarget().getRegisterInfo();
    for (unsigned i = 0; i < t->getNumOpcodes() && !lea; i++)
        if (t->getName(i) == "LEA64r")
            lea = i;
    for (unsigned i = 1; i < r->getNumRegs(); i++) {
        StringRef name = r->getName(i);
        if (name == "RDI")
            rdi = i;
        else if (name == "RSP")
            rsp = i;
        else if (name == "RBP")
            rbp = i;
    }
}

// lea MEMORY, %rdi; the stack pointer is lower here than at the access.
void Code::emitAddress(const Place &p)
{
    auto &f = const_cast<MachineFunction &>(*function);
    MachineInstr *mi = f.CreateMachineInstr(f.getSubtarget().getInstrInfo()->get(lea), DebugLoc());
    MachineInstrBuilder b(f, mi);
    b.addReg(rdi, RegState::Define);
    for (int i = 0; i < 5; i++) {
        MachineOperand o = p.mi->getOperand((unsigned)(p.memory + i));
        if (i == 3 && o.isImm() && p.mi->getOperand((unsigned)p.memory).getReg() == rsp)
            o.setImm(o.getImm() + stubPushes);
        if (o.isReg())
            o = MachineOperand::CreateReg(o.getReg(), false);
        b.add(o);
    }
    out.emitInstruction(mi);
    f.deleteMachineInstr(mi);
}

void Code::emitStub(const Place &p, MCSymbol *entry)
{
    bool vectors = function->getFunction()
                       .getFnAttribute("target-features")
                       .getValueAsString()
                       .contains("+avx");
    MCContext &c = out.OutContext;
    MCSymbol *hit = c.getOrCreateSymbol(vectors ? "__heddle_site_avx" : "__heddle_site");
    bytes("\x48\x8d\x64\x24\x80\x57"); // lea -128(%rsp), %rsp; push %rdi
    emitAddress(p);
    bytes("\x56\x48\x8d\x35"); // push %rsi; lea entry(%rip), %rsi
    relative(entry);
    bytes("\xff\x15"); // call *__heddle_site@GOTPCREL(%rip)
    out.OutStreamer->emitValue(
        MCBinaryExpr::createSub(MCSymbolRefExpr::create(hit, MCSymbolRefExpr::VK_GOTPCREL, c),
                                MCConstantExpr::create(4, c), c),
        4);
    bytes(StringRef("\x5e\x5f\x48\x8d\xa4\x24\x80\0\0\0", 10)); // pop, pop, lea 128(%rsp), %rsp
    if (!p.nop)
        out.emitInstruction(p.mi);
    bytes("\xe9");
    relative(p.end);
}

// As in the function's body; the runtime may be left by a cancelled thread.
void Code::emitUnwinding()
{
    MCStreamer &s = *out.OutStreamer;
    const TargetRegisterInfo *r = function->getSubtarget().getRegisterInfo();
    const TargetFrameLowering *frame = function->getSubtarget().getFrameLowering();
    if (frame->hasFP(*function))
        s.emitCFIDefCfa(r->getDwarfRegNum(rbp, true), 16);
    else
        s.emitCFIDefCfa(r->getDwarfRegNum(rsp, true),
                        (int64_t)function->getFrameInfo().getStackSize() + 8 + stubPushes + 8);
    for (const MCCFIInstruction &i : function->getFrameInstructions())
        if (i.getOperation() == MCCFIInstruction::OpOffset)
            s.emitCFIOffset(i.getRegister(), i.getOffset());
}

// struct heddle_patch
void Code::emitEntries(const Place &p, MCSymbol *entry, MCSymbol *stub)
{
    MCStreamer &s = *out.OutStreamer;
    const Module *m = function->getFunction().getParent();
    MCSymbol *module = out.getSymbol(m->getNamedGlobal("__heddle_module")),
             *to[] = { p.start, stub, module };
    s.emitLabel(entry);
    for (size_t i = 0; i < p.sites.size(); i++) {
        for (MCSymbol *t : to) {
            MCSymbol *here = label();
            s.emitLabel(here);
            s.emitValue(distance(here, t), 4);
        }
        bool more = i + 1 < p.sites.size();
        s.emitInt32(p.sites[i].index);
        s.emitInt32(p.sites[i].flags | (p.nop ? 0u : HitSite) | (more ? HitMore : 0u) |
                    p.sites[i].bytes << HitBytesShift | p.sites[i].delta << HitDeltaShift);
    }
}

void Code::endFunction()
{
    MCStreamer &s = *out.OutStreamer;
    if (places.empty())
        return;
    if (!lea)
        findNames();
    unsigned flags = ELF::SHF_ALLOC | ELF::SHF_GNU_RETAIN;
    if (text->getGroup())
        flags |= ELF::SHF_GROUP;
    MCSection *table = out.OutContext.getELFSection(
        "heddle_patch", ELF::SHT_PROGBITS, flags, 0,
        text->getGroup() ? text->getGroup()->getName() : "", text->isComdat());
    SmallVector<MCSymbol *, 0> stubs, entries;
    s.pushSection();
    s.switchSection(text, 1);
    s.emitCFIStartProc(false);
    emitUnwinding();
    for (const Place &p : places) {
        stubs.push_back(label());
        entries.push_back(label());
        s.emitLabel(stubs.back());
        emitStub(p, entries.back());
    }
    s.emitCFIEndProc();
    s.switchSection(table);
    for (size_t i = 0; i < places.size(); i++)
        emitEntries(places[i], entries[i], stubs[i]);
    s.popSection();
    places.clear();
}

// ---- hooks ----

// Instructions are shown to handlers of debug information only; functions without it to others.
class Instructions : public DebugHandlerBase
{
    Code &code;

  public:
    Instructions(AsmPrinter *a, Code &c) : DebugHandlerBase(a), code(c)
    {
    }
    void beginModule(Module *) override
    {
        Asm = nullptr; // we want nothing of the base class
    }
    void beginInstruction(const MachineInstr *mi) override
    {
        code.beginInstruction(*mi);
    }
    void endInstruction() override
    {
        code.endInstruction();
    }
    void endModule() override
    {
    }
    void beginFunctionImpl(const MachineFunction *) override
    {
    }
    void endFunctionImpl(const MachineFunction *) override
    {
    }
};

class Functions : public AsmPrinterHandler
{
    std::unique_ptr<Code> code;

  public:
    explicit Functions(std::unique_ptr<Code> c) : code(std::move(c))
    {
    }
    void beginFunction(const MachineFunction *f) override
    {
        code->beginFunction(*f);
    }
    void endFunction(const MachineFunction *) override
    {
        code->endFunction();
    }
    void endModule() override
    {
    }
};

Target original; // LLVM's own, as it was

AsmPrinter *create(TargetMachine &machine, std::unique_ptr<MCStreamer> &&streamer)
{
    AsmPrinter *a = original.createAsmPrinter(machine, std::move(streamer));
    auto code = std::make_unique<Code>(a);
    a->addDebugHandler(std::make_unique<Instructions>(a, *code));
    a->addAsmPrinterHandler(std::make_unique<Functions>(std::move(code)));
    return a;
}
} // namespace

void production_code_start()
{
    static bool done;
    std::string error;
    const Target *t = TargetRegistry::lookupTarget("x86_64-pc-linux-gnu", error);
    if (!t || done)
        return;
    done = true;
    original = *t;
    TargetRegistry::RegisterAsmPrinter(*const_cast<Target *>(t), create);
}
