// Follows registers from the instructions that write them to those that use them.
#include "emulator/nv/isa/register_rules.h"

#include <fmt/format.h>

#include <span>

#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/matrix.h"
#include "emulator/nv/isa/undefined_bits.h"
#include "emulator/nv/isa/warpgroup.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kR2p = 0x004;

bool is_atomic(u32 number) {
  constexpr u32 kAtomics[] = {0x18a, 0x18c, 0x18d, 0x18e, 0x1a3, 0x1a6, 0x1a8, 0x1a9};
  for (const u32 atomic : kAtomics)
    if (number == atomic) return true;
  return false;
}

// Of the data of a memory instruction.
u32 access_registers(const Operation& op) {
  const u32 number = op.opcode->number, type = op.field(73, 3);
  if (!is_atomic(number)) return type == 5 ? 2 : type == 6 ? 4 : 1;
  if (number == 0x1a3 || number == 0x1a6) return type == 7 ? 2 : 1;
  return type == 2 || type == 5 || type == 6 ? 2 : 1;
}

u32 registers_of(const Operation& op, const OperandSpec& spec) {
  const u32 number = op.opcode->number;
  if (number >= 0x110 && number <= 0x113)  // conversions say their sizes
    return op.field(spec.role == 'd' ? 75 : 84, 2) == 3 ? 2 : 1;
  if (number == 0x005) return op.bit(80) ? 2 : 1;
  if (number == 0x1a1) return spec.role == 'a' && op.bit(73) ? 2 : 1;  // MATCH.U64
  if (number == 0x03b || number == 0x044)                              // LDSM, STSM
    return spec.role == 'd' || spec.role == 'v' ? 1u << op.field(72, 2) : 1;
  if (is_matrix_product(number)) {
    const std::optional<MatrixForm> form = matrix_form(op);
    if (!form) return 1;
    return spec.role == 'a'   ? form->left_registers()
           : spec.role == 'x' ? form->right_registers()
                              : form->sum_registers();
  }
  if (is_warpgroup_product(number)) {
    const std::optional<WarpgroupForm> form = warpgroup_form(op);
    return form ? form->sum_registers() : 1;
  }
  return spec.registers != 0 ? spec.registers : access_registers(op);
}

// [Mesa's NAK, sm80_instr_latencies.rs, which has NVIDIA's tables: the classes DecoupledAgu and
// RedirectedFP64; the code of NVRTC and nvJitLink 13, which does not wait there, nor between
// conversions]
Unit unit_of(const Operation& op) {
  const u32 number = op.opcode->number;
  if ((number >= 0x104 && number <= 0x109) || (number >= 0x110 && number <= 0x113))
    return Unit::Conversion;  // MUFU, POPC and conversions
  if (number >= 0x028 && number <= 0x02b) return Unit::Double;
  for (const OperandSpec& spec : operands_of(*op.opcode))
    if (std::string_view("gslGH").find(spec.role) != std::string_view::npos) return Unit::Address;
  return number == 0x189 ? Unit::Address : Unit::Other;  // SHFL
}

// Of UBLKCP, UTMALDG and UTMASTG: what [UR] stands for, see bulk_copy.cc and tensor_copy.cc.
bool is_block_from_shared(const Operation& op) { return op.opcode->number == 0x1ba && op.bit(74); }
u32 copied_registers(const Operation& op) {
  if (op.opcode->number == 0x1ba) return 2;
  return op.field(79, 3) + (op.opcode->number == 0x1b4 ? 3 : 2);
}

bool overlap(const RegisterRange& a, const RegisterRange& b) {
  return a.row < b.row + b.count && b.row < a.row + a.count;
}

u64 row_bits(std::span<const RegisterRange> ranges) {
  u64 bits = 0;
  for (const RegisterRange& range : ranges)
    for (u32 i = 0; i < range.count; ++i) bits |= u64{1} << (range.row + i) % 64;
  return bits;
}

// Beyond the last row is the first.
u32 row_at(const RegisterRange& range, u32 i) {
  const u32 row = range.row + i;
  return row < kRows ? row : row - kRows;
}

void add_rows(RowSet& rows, std::span<const RegisterRange> ranges) {
  for (const RegisterRange& range : ranges)
    for (u32 i = 0; i < range.count; ++i) {
      const u32 row = row_at(range, i);
      rows[row / 64] |= u64{1} << row % 64;
    }
}

// BRA, EXIT.
bool decides_by_predicate(const Operation& op) {
  return op.opcode->number == 0x147 || op.opcode->number == 0x14d;
}

bool is_zero(u32 row) { return row == kZero || row == kUniformZero; }

std::string range_text(const RegisterRange& range) {
  const bool uniform = range.row >= kUniformStart;
  return fmt::format("{}{}", uniform ? "UR" : "R", uniform ? range.row - kUniformStart : range.row);
}

template <class Ranges>
void add(Ranges& ranges, u32 row, u32 count) {
  if (!is_zero(row)) ranges.push_back({row, count});
}

void add_predicate(RegisterUses& uses, u32 predicate) {
  if ((predicate & 7) != kTrue) uses.predicates.push_back(predicate);
}

// RPCMOV reads or writes half of Rpc.
void add_rpc(RegisterUses& uses, const Operation& op) {
  const u32 row = kRpc + op.field(31, 1);
  if (op.opcode->number == 0x152)
    add(uses.writes, row, 1);
  else
    add(uses.reads, row, 1);
}

// Operands of single instructions.
void add_special(RegisterUses& uses, const Operation& op, const OperandSpec& spec) {
  switch (spec.role) {
    case 'F': add_rpc(uses, op); break;
    case 'V': add(uses.reads, kUniformStart + op.field(32, 6), copied_registers(op)); break;
    case 'R':
      uses.address = {kUniformStart + op.field(24, 6), is_block_from_shared(op) ? 1u : 2u};
      break;
    case 'Z': add(uses.reads, kUniformStart + op.field(64, 6), 1); break;
    default: break;
  }
}

// What follows from the operands.
void finish_uses(RegisterUses& uses, const Operation& op) {
  if (is_zero(uses.address.row)) uses.address.count = 0;
  if (uses.address.count != 0) uses.reads.push_back(uses.address);
  uses.rows = row_bits(uses.reads) | row_bits(uses.writes);
  add_rows(uses.all_rows, uses.reads);
  add_rows(uses.all_rows, uses.writes);
  for (const u32 predicate : uses.predicates) uses.decides |= 1u << predicate;
  if (decides_by_predicate(op)) uses.decides |= 1u << op.guard | 1u << op.in_p;
}

}  // namespace

RegisterUses register_uses(const Operation& op) {
  RegisterUses uses;
  if (op.opcode == nullptr) return uses;
  uses.unit = unit_of(op);
  uses.control = control_of(op.words);
  const bool last = op.form == 2 || op.form == 3 || op.form == 7;
  const bool x_is_register = op.form == 1 || op.form >= 6;
  for (const OperandSpec& spec : operands_of(*op.opcode)) {
    const u32 count = registers_of(op, spec);
    const bool in_x = spec.role == 'x' || (spec.role == 'b' && !last) || (spec.role == 'c' && last);
    switch (spec.role) {
      case 'd': add(uses.writes, op.dst, count); break;
      case 'a': add(uses.reads, op.a.index, count); break;
      case 'x':
      case 'b':
      case 'c':
        if (!in_x)
          add(uses.reads, op.e.index, count);
        else if (x_is_register)
          add(uses.reads, op.x.index, count);
        break;
      case 'g': uses.address = {op.a.index, op.bit(72) ? 2u : 1u}; break;
      case 's':
      case 'l': uses.address = {op.a.index, 1}; break;
      case 'k':
        if (!(op.opcode->flags & kUniform)) uses.address = {op.a.index, 1};
        break;
      case 'e':
        if (is_matrix_product(op.opcode->number) || is_warpgroup_product(op.opcode->number))
          add(uses.reads, op.e.index, count);
        break;
      case 'G': add(uses.reads, op.dst, 1); break;
      case 'K':
        if (op.form == 6) add(uses.reads, op.a.index, 4);
        break;
      case 'J':
        if (op.form == 6)
          add(uses.reads, kUniformStart + op.field(32, 6) + 2, 2);
        else
          add(uses.reads, kUniformStart + op.field(24, 6), 4);
        break;
      case 'I':
        if (op.form != 2)
          add(uses.writes, op.dst, 2);
        else
          add_predicate(uses, op.p);
        break;
      case 'Y':
        uses.address = {op.a.index, 1};
        if (!(op.opcode->flags & kUniform)) add(uses.reads, kUniformStart + op.field(64, 6), 1);
        break;
      case 'U': add(uses.reads, kUniformStart + op.field(32, 6), 2); break;
      case 'W':
        if (op.form == 1) add(uses.reads, op.a.index, 1);
        break;
      case 'H': uses.address = {op.a.index, 2}; break;
      case 'v': add(uses.reads, op.field(32, 8), count); break;
      case 'w': add(uses.reads, op.field(64, 8), count); break;
      case 'p': add_predicate(uses, op.p); break;
      case 'q': add_predicate(uses, op.q); break;
      default: add_special(uses, op, spec); break;
    }
  }
  finish_uses(uses, op);
  return uses;
}

std::vector<RegisterUses> register_uses(const Program& program) {
  std::vector<RegisterUses> all;
  all.reserve(program.operations.size());
  for (const Operation& op : program.operations) all.push_back(register_uses(op));
  return all;
}

RegisterRules::RegisterRules() {
  for (u32 row = 0; row < kRows; ++row) set_undefined(row, is_zero(row) ? 0 : kAllLanes);
  for (u32 i = 0; i < kPredicates; ++i)
    set_undefined_predicate(i, i == kTrue || i == kUniformPredicates + kTrue ? 0 : kAllLanes);
}

void RegisterRules::set_undefined(u32 row, u32 lanes) {
  const u64 bit = u64{1} << row % 64;
  u64& word = undefined_rows_[row / 64];
  undefined_[row] = lanes;
  word = lanes != 0 ? word | bit : word & ~bit;
}

void RegisterRules::set_undefined_predicate(u32 predicate, u32 lanes) {
  const u32 bit = 1u << predicate;
  undefined_predicates_[predicate] = lanes;
  undefined_predicate_bits_ =
      lanes != 0 ? undefined_predicate_bits_ | bit : undefined_predicate_bits_ & ~bit;
}

// R2P writes predicates of its own.
bool RegisterRules::is_defined(const Operation& op, const RegisterUses& uses) const {
  u64 undefined = undefined_predicate_bits_ & uses.decides;
  for (usize i = 0; i < undefined_rows_.size(); ++i)
    undefined |= undefined_rows_[i] & uses.all_rows[i];
  return undefined == 0 && op.opcode->number != kR2p;
}

bool RegisterRules::check(Warp& warp, const Operation& op, const RegisterUses& uses) {
  return op.opcode == nullptr || (check_waits(warp, op, uses) && products_.check(warp, op, uses) &&
                                  check_undefined(warp, op, uses));
}

// Lanes that took different ways share scoreboards, but not registers.
bool RegisterRules::check_pending(Warp& warp, const Operation& op, const RegisterUses& uses,
                                  u32 scoreboard) {
  const u32 lanes = op.has_uniform_dst ? kAllLanes : warp.mask_of(op);
  for (const Pending& pending : pending_[scoreboard]) {
    if ((pending.lanes & lanes) == 0) continue;
    const bool in_order = uses.unit != Unit::Other && uses.unit == pending.unit;
    if (!pending.writes && in_order) continue;
    const char* verb = nullptr;
    for (const RegisterRange& range : uses.writes)
      if (overlap(range, pending.range)) verb = "overwrites";
    for (const RegisterRange& range : uses.reads)
      if (pending.writes && overlap(range, pending.range)) verb = "reads";
    if (verb == nullptr) continue;
    const std::string message = fmt::format(
        "{}: {} {} {} and does not wait for scoreboard {}, of {} at {:#x}, which {} it",
        warp.block->grid().kernel.name, text_of(op), verb, range_text(pending.range), scoreboard,
        text_of(*pending.by), pending.by->offset, pending.writes ? "writes" : "reads");
    if (warp.block->grid().checks.report(kMissingWait, message) != Level::Error) return true;
    stop(warp, kMissingWait, Warp::first_lane(warp.active), 0, message);
    return false;
  }
  return true;
}

// An instruction whose results are there has read its sources. [Mesa's NAK, calc_instr_deps.rs,
// DepGraph::add_waits]
void RegisterRules::finish(u32 scoreboard) {
  std::vector<Pending> done;
  done.swap(pending_[scoreboard]);
  scoreboards_ &= ~(1u << scoreboard);
  pending_rows_[scoreboard] = 0;
  for (u32 i = 0; i < kScoreboards; ++i) {
    if (!(scoreboards_ >> i & 1)) continue;
    for (const Pending& one : done)
      std::erase_if(pending_[i], [&](const Pending& other) {
        return one.writes && !other.writes && other.by == one.by;
      });
    if (pending_[i].empty()) scoreboards_ &= ~(1u << i);
  }
  done.clear();
  done.swap(pending_[scoreboard]);  // keeps its memory
}

bool RegisterRules::check_waits(Warp& warp, const Operation& op, const RegisterUses& uses) {
  constexpr u32 kDepbar = 0x11a;  // waits for all
  const Control& control = uses.control;
  for (u32 left = scoreboards_; left != 0; left &= left - 1) {
    const u32 i = Warp::first_lane(left);
    if ((control.wait >> i & 1) || op.opcode->number == kDepbar) finish(i);
  }
  for (u32 left = scoreboards_; left != 0; left &= left - 1) {
    const u32 i = Warp::first_lane(left);
    if ((pending_rows_[i] & uses.rows) != 0 && !check_pending(warp, op, uses, i)) return false;
  }
  if (!(op.opcode->flags & kVariable)) return true;
  const u32 lanes = op.has_uniform_dst ? kAllLanes : warp.mask_of(op);
  const auto add_pending = [&](u32 scoreboard, const RegisterRange& range, bool writes) {
    pending_[scoreboard].push_back({range, lanes, writes, &op, uses.unit});
    scoreboards_ |= 1u << scoreboard;
    pending_rows_[scoreboard] |= row_bits({&range, 1});
  };
  if (control.write_barrier < kScoreboards) {
    for (const RegisterRange& range : uses.writes) add_pending(control.write_barrier, range, true);
    if (uses.writes.empty())  // predicates, which are not followed
      add_pending(control.write_barrier, {kRows, 0}, true);
  }
  // SYNCS has its uniform registers when it is issued. [NVRTC 13's code, which changes them behind]
  constexpr u32 kSyncs = 0x1a7;
  const auto is_read_later = [&](const RegisterRange& range) {
    return op.opcode->number != kSyncs || range.row < kUniformStart;
  };
  if (control.read_barrier < kScoreboards)
    for (const RegisterRange& range : uses.reads)
      if (is_read_later(range)) add_pending(control.read_barrier, range, false);
  return true;
}

u32 RegisterRules::note_bits(const Warp& warp, const Operation& op, const RegisterUses& uses,
                             u32 lanes) {
  // What no undefined source makes defined is not followed by bits.
  const u32 first = Warp::first_lane(lanes);
  if (undefined_result(warp, op, first, [](const Source&) { return 0u; }) != 0) {
    for (const RegisterRange& range : uses.writes)
      for (u32 i = 0; i < range.count; ++i) partly_[row_at(range, i)] &= ~lanes;
    return lanes;
  }
  u32 undefined = 0;
  Row result;
  result.fill(~u32{0});
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    result[lane] = undefined_result(warp, op, lane, [&](const Source& source) {
      if (source.constant != 0 || !(undefined_[source.index] >> lane & 1)) return 0u;
      return partly_[source.index] >> lane & 1 ? bits_[source.index][lane] : ~u32{0};
    });
    if (result[lane] != 0) undefined |= 1u << lane;
  }
  if (bits_.empty()) bits_.resize(kRows);
  for (const RegisterRange& range : uses.writes)
    for (u32 i = 0; i < range.count; ++i) {
      const u32 row = row_at(range, i);
      partly_[row] |= lanes;
      for (u32 lane = 0; lane < kLanes; ++lane)
        if (lanes >> lane & 1) bits_[row][lane] = result[lane];
    }
  return undefined;
}

// A result is undefined where a source is; what is loaded is defined.
bool RegisterRules::check_undefined(Warp& warp, const Operation& op, const RegisterUses& uses) {
  if (is_defined(op, uses)) return true;
  const u32 lanes = warp.mask_of(op), number = op.opcode->number;
  const bool decides = decides_by_predicate(op);
  u32 bad = 0;
  for (u32 i = 0; i < uses.address.count; ++i) bad |= undefined_[uses.address.row + i] & lanes;
  if (decides)
    bad |= (undefined_predicates_[op.guard] | undefined_predicates_[op.in_p]) & warp.active;
  if (bad != 0) {
    const std::string message = fmt::format("{}: {} depends on a register that was never written",
                                            warp.block->grid().kernel.name, text_of(op));
    if (warp.block->grid().checks.report(kUndefinedRegister, message) == Level::Error) {
      stop(warp, kUndefinedRegister, Warp::first_lane(bad), 0, message);
      return false;
    }
  }
  const bool loads = uses.address.count != 0 || number == 0x003;  // P2R takes all predicates
  u32 sources = 0;
  for (const RegisterRange& range : uses.reads)
    for (u32 i = 0; i < range.count && !loads; ++i) sources |= undefined_[row_at(range, i)];
  const u32 written = op.has_uniform_dst && lanes != 0 ? kAllLanes : lanes;
  if (sources & lanes && !op.has_uniform_dst)
    sources = (sources & ~lanes) | note_bits(warp, op, uses, sources & lanes);
  if (op.has_uniform_dst) sources = (sources & lanes) != 0 ? kAllLanes : 0;
  for (const RegisterRange& range : uses.writes)
    for (u32 i = 0; i < range.count; ++i) {
      const u32 row = row_at(range, i);
      set_undefined(row, (undefined_[row] & ~written) | (sources & written));
    }
  if (number == kR2p)
    for (u32 i = 0; i < kTrue; ++i)
      if (op.field(32, 32) >> i & 1)
        set_undefined_predicate(i, (undefined_predicates_[i] & ~lanes) | (sources & lanes));
  for (const u32 predicate : uses.predicates)
    set_undefined_predicate(predicate,
                            (undefined_predicates_[predicate] & ~written) | (sources & written));
  return true;
}

}  // namespace doorbell::emu::nvgpu
