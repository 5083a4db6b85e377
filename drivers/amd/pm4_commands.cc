// One function for each operation.
#include "drivers/amd/pm4_commands.h"

#include <algorithm>

#include "base/util/check.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/sync.h"
#include "drivers/amd/program.h"

namespace doorbell::amd {

using hcq::Operand;

u32 Pm4Commands::begin_once() {
  begin();
  if (xccs_ == 1) return 0;
  return emit(hw::PredExec{.xcc_mask = 1});
}

void Pm4Commands::end_once(u32 predicate) {
  if (xccs_ == 1) return;
  set(predicate, field_of<hw::PredExec>("count"),
      u64{area_size() - predicate - hw::PredExec::kWords});
}

void Pm4Commands::acquire(Scope scope) {
  begin();
  const bool outside = scope != Scope::Device, code = scope == Scope::Code;
  // Each XCC has an L2 of its own.
  const bool l2 = outside || xccs_ > 1;
  switch (caps_.cache_control) {
    case CacheControl::Coher:
      emit(hw::AcquireMemGfx9{.tc_wb_action_ena = l2,
                              .tcl1_action_ena = true,
                              .tc_action_ena = l2,
                              .sh_kcache_action_ena = true,
                              .sh_icache_action_ena = code});
      return;
    case CacheControl::Gcr:
      emit(hw::AcquireMem{.gli_inv = static_cast<u8>(code ? 1 : 0),
                          .glm_wb = l2,
                          .glm_inv = l2,
                          .glk_wb = true,
                          .glk_inv = true,
                          .glv_inv = true,
                          .gl1_inv = true,
                          .gl2_inv = l2,
                          .gl2_wb = l2});
      return;
  }
  UNREACHABLE("cache control {}", static_cast<int>(caps_.cache_control));
}

void Pm4Commands::flush_for_command_processor() {
  if (caps_.processor_uses_l2) return;
  acquire(Scope::System);
  behind_l2_ = true;
}

void Pm4Commands::acquire_code() { acquire(Scope::Code); }

void Pm4Commands::memory_barrier() {
  // What the first barrier is after may have come from anywhere.
  const Scope scope = area_size() == 0 || behind_l2_ ? Scope::System : Scope::Device;
  behind_l2_ = false;
  begin();
  emit(hw::EventWrite{});
  acquire(scope);
}

void Pm4Commands::wait(Operand address, Operand value) {
  begin();
  const u32 at = emit(hw::WaitRegMem{.function = hw::Compare::GreaterEqual});
  set(at, field_of<hw::WaitRegMem>("addr"), address);
  // Timelines stay below 2^31.
  set_half(at, field_of<hw::WaitRegMem>("reference"), value, false);
  acquire(Scope::System);
}

void Pm4Commands::poll(Operand address, Operand value, u64 mask) {
  flush_for_command_processor();
  for (const bool high : {false, true}) {
    const u32 part = static_cast<u32>(high ? mask >> 32 : mask);
    if (part == 0) continue;
    begin();
    const u32 at = emit(hw::WaitRegMem{.function = hw::Compare::Equal, .mask = part});
    set(at, field_of<hw::WaitRegMem>("addr"), address + (high ? 4 : 0));
    set_half(at, field_of<hw::WaitRegMem>("reference"), value, high);
  }
  acquire(Scope::System);
}

void Pm4Commands::signal(Operand address, Operand value) {
  // The one that signals writes back its own L2 only.
  if (xccs_ > 1) {
    begin();
    emit(hw::EventWrite{});
    acquire(Scope::System);
  }
  const u32 once = begin_once();
  u32 at = 0;
  if (caps_.cache_control == CacheControl::Coher)
    at = emit(hw::ReleaseMemGfx9{
        .tc_wb_action_ena = true, .tc_nc_action_ena = true, .data_sel = hw::ReleaseData::Data64});
  else
    at = emit(hw::ReleaseMem{.glm_wb = true,
                             .glm_inv = true,
                             .glv_inv = true,
                             .gl1_inv = true,
                             .gl2_wb = true,
                             .seq = hw::GcrSequence::Forward,
                             .data_sel = hw::ReleaseData::Data64});
  // Both layouts agree on these.
  set(at, field_of<hw::ReleaseMem>("addr"), address);
  set(at, field_of<hw::ReleaseMem>("data"), value);
  end_once(once);
}

void Pm4Commands::interrupt(u64 mailbox, u32 event_id) {
  const u32 once = begin_once();
  emit(hw::ReleaseMem{.int_sel = hw::ReleaseInterrupt::AfterWriteConfirm,
                      .data_sel = hw::ReleaseData::Low32,
                      .addr = mailbox,
                      .data = event_id,
                      .int_ctxid = event_id});
  end_once(once);
}

void Pm4Commands::timestamp(Operand address) {
  const u32 once = begin_once();
  const u32 at = emit(hw::ReleaseMem{.data_sel = hw::ReleaseData::GpuClockCounter});
  set(at, field_of<hw::ReleaseMem>("addr"), address);
  end_once(once);
}

void Pm4Commands::write(Operand address, Operand value) {
  flush_for_command_processor();
  const u32 once = begin_once();
  constexpr u32 kPayload = 2;
  const u32 at = emit(hw::WriteData{.count = hw::count_of(hw::WriteData::kWords + kPayload),
                                    .dst_sel = hw::WriteTarget::Memory,
                                    .wr_confirm = true});
  set(at, field_of<hw::WriteData>("addr"), address);
  constexpr u32 kZero[kPayload] = {};
  set(append(kZero), Field{0, Bits{63, 0}, 0}, value);
  end_once(once);
}

void Pm4Commands::copy(Operand to, Operand from, u64 bytes) {
  if (bytes == 0) return;
  if (words().empty()) memory_barrier();  // kernels submitted before may still be at work
  flush_for_command_processor();
  const u32 once = begin_once();
  for (u64 done = 0; done < bytes;) {
    const u64 now = std::min(bytes - done, hw::DmaData::kMaxBytes);
    const u32 at = emit(hw::DmaData{.byte_count = static_cast<u32>(now)});
    set(at, field_of<hw::DmaData>("src"), from + done);
    set(at, field_of<hw::DmaData>("dst"), to + done);
    done += now;
  }
  end_once(once);
}

const AmdProgram& Pm4Commands::program_of(const hcq::Launch& launch) const {
  const auto* program = dynamic_cast<const AmdProgram*>(launch.program);
  CHECK(program != nullptr, "a program that is not AMD's");
  CHECK(&program->device() == &device_, "kernel {} on the queue of another device",
        program->name());
  program->check_arguments(launch.buffers.size(), launch.variables.size());
  // What slots are filled with is aligned: the memory of buffers. Offsets in it are known here.
  u64 bits = 0;
  for (const Operand& buffer : launch.buffers) bits |= buffer.value;
  const Result<const AmdProgram*> form = program->form_for(bits);
  CHECK(form.has_value(), "kernel {} for unaligned buffers: {}", program->name(),
        form.error().message);
  return **form;
}

u32 Pm4Commands::add_arguments(const AmdProgram& program, const hcq::Launch& launch) {
  const u32 first = add_data(program.argument_words(), AmdProgram::kArgumentAlignmentWords);
  u32 word = first;
  for (const Operand& buffer : launch.buffers) {
    put_data(word, Bits{63, 0}, buffer);
    word += 2;
  }
  for (const Operand& variable : launch.variables) {
    put_data(word, Bits{63, 0}, variable);
    word += 2;
  }
  return first;
}

void Pm4Commands::exec(const hcq::Launch& launch) {
  const AmdProgram& program = program_of(launch);
  dispatch(program, add_arguments(program, launch));
}

void Pm4Commands::launch(const KernelLaunch& launch) {
  const AmdProgram& program = launch.program;
  const u32 arguments = add_data(program.argument_words(), AmdProgram::kArgumentAlignmentWords);
  program.write_arguments(launch, data_at(arguments));
  dispatch(program, arguments);
}

void Pm4Commands::dispatch(const AmdProgram& program, u32 arguments) {
  if (!program.packet_words().empty()) add_data(program.packet_words());
  const u32 at = append(program.dispatch_words());
  for (const AmdProgram::DataAddress& place : program.data_addresses())
    put_data_address(at + place.word, Bits{63, 0}, arguments + place.offset_words);
}

}  // namespace doorbell::amd
