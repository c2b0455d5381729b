// production_code.cpp - production builds: where in the machine code the marked accesses ended up
//
// production_mark.c marks accesses (alias scopes, "heddle:SITE:FLAGS:BYTES:LINK"), which changes
// nothing of what the compiler does. When it prints a function, this file finds the instructions that make
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
// Where a pointer may be stored the stub stores it on the stack first, by the same instruction, and
// calls *__heddle_link with that before *__heddle_site.
//
// The compiler may merge accesses, or lose track of what one is: such a site has no place. If it
// may store a pointer, the function begins with a no-op that says so. C++,
// since LLVM has no C interface for this; the hook is the one for debug information of LLVM's
// users.
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/DebugHandlerBase.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
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

extern "C" {
#include "pass/production/production_mark.h"
#include "abi/abi.h"
}

extern "C" void production_code_start(); // shim.cpp

using namespace llvm;

namespace
{
constexpr unsigned jumpBytes = 5, stubPushes = 128 + 8; // below the stack pointer at the lea
constexpr unsigned storedBytes = 64;                    // room for what a link stores

// A marked access, and where it begins in bytes from the instruction's memory operand.
struct Site {
    unsigned index, flags, bytes, link, delta;
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

// How to find the caller's registers at an instruction, as its CFI says.
struct Unwinding {
    unsigned reg = 0; // of the CFA; registers are DWARF's
    int64_t offset = 0;
    std::string expression; // instead
    SmallVector<std::pair<unsigned, int64_t>, 6> saved;
};

struct Place {
    const MachineInstr *mi;
    bool nop;   // before the instruction, instead of the instruction itself
    int memory; // first of the five operands
    SmallVector<Site, 2> sites;
    unsigned link, stored; // the site of links + 1, or 0; bytes that are stored, 0: not known which
    MCSymbol *start, *end;
    Unwinding unwinding;
};

bool parse(const Metadata *scope, Site &s)
{
    auto *node = dyn_cast_or_null<MDNode>(scope);
    auto *text = node && node->getNumOperands() ? dyn_cast<MDString>(node->getOperand(0)) : nullptr;
    s.delta = 0;
    return text && sscanf(text->getString().str().c_str(), "heddle:%u:%u:%u:%u", &s.index, &s.flags,
                          &s.bytes, &s.link) == 4;
}

// What the instruction stores, if its operands say it all: then the same instruction stores the
// same elsewhere.
unsigned storedSize(const MachineInstr &mi)
{
    uint64_t size = 0;
    for (const MachineMemOperand *m : mi.memoperands())
        if (m->isStore() && m->getSize().hasValue())
            size = std::max(size, m->getSize().getValue().getKnownMinValue());
    return mi.mayLoad() || size > storedBytes ? 0 : (unsigned)size;
}

// The one that stores vectors at any address.
std::string unaligned(StringRef name)
{
    static const std::pair<const char *, const char *> same[] = { { "MOVAPS", "MOVUPS" },
                                                                  { "MOVAPD", "MOVUPD" },
                                                                  { "MOVDQA", "MOVDQU" },
                                                                  { "MOVNTPS", "MOVUPS" },
                                                                  { "MOVNTPD", "MOVUPD" },
                                                                  { "MOVNTDQ", "MOVDQU" } };
    std::string s = name.str();
    for (auto &x : same)
        if (size_t at = s.find(x.first); at != std::string::npos)
            return s.replace(at, strlen(x.first), x.second);
    return s;
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
    unsigned lost = 0; // the site of links + 1, if one has no place and the function no no-op yet
    unsigned lea = 0, rdi = 0, rsp = 0;
    Unwinding unwinding; // at the instruction that is printed
    SmallVector<Unwinding, 1> remembered;
    StringMap<unsigned> opcodes; // by name

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
    void call(StringRef name, MCSymbol *entry);
    void emitAddress(const Place &p);
    StringMap<unsigned>::iterator anywhere(const MachineInstr &mi);
    void emitStored(const Place &p);
    void emitStub(const Place &p, MCSymbol *entry, MCSymbol *link);
    unsigned dwarf(unsigned reg) const;
    void follow(const MCCFIInstruction &i);
    void emitUnwinding(const Place &p, Unwinding &before);
    void emitEntry(const Place &p, MCSymbol *stub, unsigned index, unsigned what);
    void emitEntries(const Place &p, MCSymbol *entry, MCSymbol *link, MCSymbol *stub);
    void begin(Place p);
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
    lost = 0;
    if (!lea)
        findNames();
    unwinding = Unwinding();
    unwinding.reg = dwarf(rsp);
    unwinding.offset = 8;
    remembered.clear();
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
    for (const Access &a : accesses) {
        if (!exact.contains(a.site.index))
            adopt(a);
        if (a.site.link && !found.contains(a.site.index))
            lost = a.site.link;
    }
}

unsigned Code::dwarf(unsigned reg) const
{
    return (unsigned)function->getSubtarget().getRegisterInfo()->getDwarfRegNum(reg, true);
}

// Blocks are in the order in which they are printed: what holds at an instruction is what was said
// before it (LLVM's CFIInstrInserter sees to that).
void Code::follow(const MCCFIInstruction &i)
{
    Unwinding &u = unwinding;
    auto isReg = [&](const std::pair<unsigned, int64_t> &x) { return x.first == i.getRegister(); };
    switch (i.getOperation()) {
    case MCCFIInstruction::OpDefCfa:
        u.reg = i.getRegister();
        u.offset = i.getOffset();
        u.expression.clear();
        break;
    case MCCFIInstruction::OpDefCfaRegister:
        u.reg = i.getRegister();
        u.expression.clear();
        break;
    case MCCFIInstruction::OpDefCfaOffset:
        u.offset = i.getOffset();
        break;
    case MCCFIInstruction::OpAdjustCfaOffset:
        u.offset += i.getOffset();
        break;
    case MCCFIInstruction::OpEscape:
        if (i.getValues().starts_with("\x0f")) // DW_CFA_def_cfa_expression
            u.expression = i.getValues().str();
        break;
    case MCCFIInstruction::OpOffset:
        erase_if(u.saved, isReg);
        u.saved.push_back({ i.getRegister(), i.getOffset() });
        break;
    case MCCFIInstruction::OpRestore:
    case MCCFIInstruction::OpSameValue:
        erase_if(u.saved, isReg);
        break;
    case MCCFIInstruction::OpRememberState:
        remembered.push_back(u);
        break;
    case MCCFIInstruction::OpRestoreState:
        if (!remembered.empty())
            u = remembered.pop_back_val();
        break;
    default:
        break;
    }
}

void Code::beginInstruction(const MachineInstr &mi)
{
    if (mi.isCFIInstruction())
        follow(function->getFrameInstructions()[mi.getOperand(0).getCFIIndex()]);
    if (lost && !mi.isMetaInstruction())
        begin({ &mi, true, -1, {}, lost, 0, nullptr, nullptr, {} });
    auto marked = sites.find(&mi);
    if (marked == sites.end())
        return;
    Place p = { &mi, false, memoryOperand(mi), {}, 0, 0, nullptr, nullptr, {} };
    p.nop = mi.isCall() || mi.isTerminator() || mi.isPseudo() || mi.isBundle();
    for (const Site &s : marked->second) {
        if (s.index < MARK_NO_SITE)
            p.sites.push_back(s);
        p.link = s.link ? s.link : p.link;
    }
    p.stored = p.link && !p.nop && anywhere(mi) != opcodes.end() ? storedSize(mi) : 0;
    begin(p);
}

void Code::begin(Place p)
{
    MCStreamer &s = *out.OutStreamer;
    if (p.memory < 0)
        lost = 0;
    text = cast<MCSectionELF>(s.getCurrentSectionOnly());
    p.start = label();
    p.end = label();
    p.unwinding = unwinding;
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
    for (unsigned i = 0; i < t->getNumOpcodes(); i++)
        opcodes[t->getName(i)] = i;
    lea = opcodes["LEA64r"];
    for (unsigned i = 1; i < r->getNumRegs(); i++) {
        StringRef name = r->getName(i);
        if (name == "RDI")
            rdi = i;
        else if (name == "RSP")
            rsp = i;
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
            o.setImm(o.getImm() + stubPushes + (p.stored ? storedBytes : 0));
        if (o.isReg())
            o = MachineOperand::CreateReg(o.getReg(), false);
        b.add(o);
    }
    out.emitInstruction(mi);
    f.deleteMachineInstr(mi);
}

// The opcode that stores the same at any address.
StringMap<unsigned>::iterator Code::anywhere(const MachineInstr &mi)
{
    return opcodes.find(unaligned(function->getSubtarget().getInstrInfo()->getName(mi.getOpcode())));
}

// What the instruction is about to store, at 0(%rsp).
void Code::emitStored(const Place &p)
{
    auto &f = const_cast<MachineFunction &>(*function);
    const TargetInstrInfo *t = f.getSubtarget().getInstrInfo();
    MachineInstr *mi = f.CloneMachineInstr(p.mi);
    unsigned m = (unsigned)p.memory;
    mi->setDesc(t->get(anywhere(*mi)->second));
    mi->getOperand(m).ChangeToRegister(rsp, false);
    mi->getOperand(m + 1).ChangeToImmediate(1);
    mi->getOperand(m + 2).ChangeToRegister(0, false);
    mi->getOperand(m + 3).ChangeToImmediate(0);
    out.emitInstruction(mi);
    f.deleteMachineInstr(mi);
    // the stack pointer itself: push %rdi; lea 200(%rsp), %rdi; mov %rdi, 8(%rsp); pop %rdi
    if (p.mi->getNumOperands() > m + 5 && p.mi->getOperand(m + 5).isReg() &&
        p.mi->getOperand(m + 5).getReg() == rsp)
        bytes(StringRef("\x57\x48\x8d\xbc\x24\xc8\0\0\0\x48\x89\x7c\x24\x08\x5f", 15));
}

// lea entry(%rip), %rsi; call *NAME@GOTPCREL(%rip)
void Code::call(StringRef name, MCSymbol *entry)
{
    bool vectors = function->getFunction()
                       .getFnAttribute("target-features")
                       .getValueAsString()
                       .contains("+avx");
    MCContext &c = out.OutContext;
    MCSymbol *to = c.getOrCreateSymbol(name + (vectors ? "_avx" : ""));
    bytes("\x48\x8d\x35");
    relative(entry);
    bytes("\xff\x15");
    out.OutStreamer->emitValue(
        MCBinaryExpr::createSub(MCSymbolRefExpr::create(to, MCSymbolRefExpr::VK_GOTPCREL, c),
                                MCConstantExpr::create(4, c), c),
        4);
}

void Code::emitStub(const Place &p, MCSymbol *entry, MCSymbol *link)
{
    bytes("\x48\x8d\x64\x24\x80"); // lea -128(%rsp), %rsp
    if (p.stored) {
        bytes("\x48\x8d\x64\x24\xc0"); // lea -64(%rsp), %rsp
        emitStored(p);
    }
    bytes("\x57"); // push %rdi
    if (p.memory >= 0)
        emitAddress(p);
    bytes("\x56"); // push %rsi
    if (p.link)
        call("__heddle_link", link);
    if (!p.sites.empty())
        call("__heddle_site", entry);
    bytes("\x5e\x5f"); // pop %rsi; pop %rdi
    if (p.stored)
        bytes("\x48\x8d\x64\x24\x40"); // lea 64(%rsp), %rsp
    bytes(StringRef("\x48\x8d\xa4\x24\x80\0\0\0", 8)); // lea 128(%rsp), %rsp
    if (!p.nop)
        out.emitInstruction(p.mi);
    bytes("\xe9");
    relative(p.end);
}

// As at the instruction, with what the stub has pushed where it calls: stacks are walked from there,
// and a cancelled thread leaves the runtime. `before` is what was said last.
void Code::emitUnwinding(const Place &p, Unwinding &before)
{
    MCStreamer &s = *out.OutStreamer;
    Unwinding now = p.unwinding;
    if (now.reg == dwarf(rsp))
        now.offset += stubPushes + 8 + (p.stored ? storedBytes : 0);
    if (!now.expression.empty() && now.expression != before.expression)
        s.emitCFIEscape(now.expression);
    else if (now.expression.empty() && (now.reg != before.reg || now.offset != before.offset ||
                                        !before.expression.empty()))
        s.emitCFIDefCfa(now.reg, now.offset);
    for (const auto &x : before.saved)
        if (none_of(now.saved, [&](auto &y) { return y.first == x.first; }))
            s.emitCFIRestore(x.first);
    for (const auto &x : now.saved)
        if (!is_contained(before.saved, x))
            s.emitCFIOffset(x.first, x.second);
    before = now;
}

// struct heddle_patch
void Code::emitEntry(const Place &p, MCSymbol *stub, unsigned index, unsigned what)
{
    MCStreamer &s = *out.OutStreamer;
    const Module *m = function->getFunction().getParent();
    MCSymbol *module = out.getSymbol(m->getNamedGlobal("__heddle_module"));
    for (MCSymbol *to : { p.start, stub, module }) {
        MCSymbol *here = label();
        s.emitLabel(here);
        s.emitValue(distance(here, to), 4);
    }
    s.emitInt32(index);
    s.emitInt32(what | (p.nop ? 0u : unsigned(HIT_SITE)));
}

void Code::emitEntries(const Place &p, MCSymbol *entry, MCSymbol *link, MCSymbol *stub)
{
    out.OutStreamer->emitLabel(entry);
    for (const Site &s : p.sites)
        emitEntry(p, stub, s.index,
                  s.flags | (&s != &p.sites.back() ? unsigned(HIT_MORE) : 0u) | s.bytes << HIT_ENTRY_BYTES_SHIFT |
                      s.delta << HIT_ENTRY_DELTA_SHIFT);
    out.OutStreamer->emitLabel(link);
    if (p.link)
        emitEntry(p, stub, p.link - 1, unsigned(HIT_ATOMIC) | p.stored << HIT_ENTRY_BYTES_SHIFT);
}

void Code::endFunction()
{
    MCStreamer &s = *out.OutStreamer;
    if (places.empty())
        return;
    unsigned flags = ELF::SHF_ALLOC | ELF::SHF_GNU_RETAIN;
    if (text->getGroup())
        flags |= ELF::SHF_GROUP;
    MCSection *table = out.OutContext.getELFSection(
        "heddle_patch", ELF::SHT_PROGBITS, flags, 0,
        text->getGroup() ? text->getGroup()->getName() : "", text->isComdat());
    SmallVector<MCSymbol *, 0> stubs, entries, links;
    s.pushSection();
    s.switchSection(text, 1);
    s.emitCFIStartProc(false);
    Unwinding before;
    for (const Place &p : places) {
        emitUnwinding(p, before);
        stubs.push_back(label());
        entries.push_back(label());
        links.push_back(label());
        s.emitLabel(stubs.back());
        emitStub(p, entries.back(), links.back());
    }
    s.emitCFIEndProc();
    s.switchSection(table);
    for (size_t i = 0; i < places.size(); i++)
        emitEntries(places[i], entries[i], links[i], stubs[i]);
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
