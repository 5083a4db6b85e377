// Constant banks, QMDs, and sending or chaining them.
#include "drivers/nv/compute_commands.h"

#include <cstring>

#include "base/util/check.h"
#include "drivers/nv/device.h"
#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/host/methods.h"
#include "drivers/nv/program.h"

namespace doorbell::nv {

using hcq::Operand;
using hw::QmdField;

namespace {

constexpr u32 kAlignmentWords = hw::kQmdAlignment / 4;

// Where a field of a QMD lies whose first word is `qmd`.
struct QmdPlace {
  u32 word;
  Bits bits;
  u8 shift;
};
QmdPlace place_of(hw::QmdVersion version, QmdField field, u32 qmd) {
  const hw::QmdPosition at = *hw::Qmd::position(version, field);
  const unsigned first = at.bits.lo / 32 * 32;
  return {qmd + first / 32, Bits(at.bits.hi - first, at.bits.lo - first),
          static_cast<u8>(at.shift.count)};
}

}  // namespace

ComputeCommands::ComputeCommands(const NvDevice& device)
    : NvCommands(device.gpu().classes()), device_(device) {}

void ComputeCommands::set_up() {
  NvCommands::set_up();
  emit(kCompute, hw::SetObject{.class_id = classes().compute});
  const auto local = hw::address_words(NvDevice::kLocalWindow);
  emit(kCompute, hw::LocalMemoryWindow{{local.upper, local.lower}});
  const auto shared = hw::address_words(NvDevice::kSharedWindow);
  emit(kCompute, hw::SharedMemoryWindow{{shared.upper, shared.lower}});
}

void ComputeCommands::signal(Operand address, Operand value) {
  write(address, value);
  emit(kHost, hw::NonStallInterrupt{});
}

void ComputeCommands::set_local_memory(u64 address, u64 bytes_per_tpc) {
  constexpr u16 kAllSms = 0xff;
  const auto at = hw::address_words(address), size = hw::address_words(bytes_per_tpc);
  emit(kCompute, hw::LocalMemory{{at.upper, at.lower}});
  emit(kCompute, hw::LocalMemorySize{
                     .size_upper = size.upper, .size_lower = size.lower, .max_sm_count = kAllSms});
}

void ComputeCommands::begin() {
  if (!words().empty()) return;
  ended_run();
  became_idle();
}

// By the host engine where copies are in flight, which are not the compute engine's.
void ComputeCommands::wait_for_idle() {
  if (has_copies_)
    emit(kHost, hw::HostWaitForIdle{});
  else if (has_grids_)
    emit(kCompute, hw::WaitForIdle{});
  became_idle();
}

// A grid that is chained begins when the one before it is done. What else may follow is known then.
void ComputeCommands::memory_barrier() {
  begin();
  has_barrier_ = last_qmd_ != kNone;
  if (has_barrier_) return;
  wait_for_idle();
  invalidate();
}

// Copies come one after the other by themselves.
void ComputeCommands::copy(Operand to, Operand from, u64 bytes) {
  begin();
  if (has_grids_) wait_for_idle();
  NvCommands::copy(to, from, bytes);
  has_copies_ = true;
}

void ComputeCommands::invalidate() {
  if (invalidated_) return;
  emit(kCompute,
       hw::InvalidateShaderCachesNoWfi{.instruction = true, .global_data = true, .constant = true});
  invalidated_ = true;
}

u32 ComputeCommands::add_bank(const NvProgram& program) {
  begin();
  return add_aligned(program.bank_words());
}

u32 ComputeCommands::add_aligned(std::span<const u32> words) {
  add_data(0, kAlignmentWords);
  return add_data(words);
}

void ComputeCommands::exec(const hcq::Launch& launch) {
  const auto* program = dynamic_cast<const NvProgram*>(launch.program);
  CHECK(program != nullptr, "a program that is not NV's");
  CHECK(&program->device() == &device_, "kernel {} on the queue of another device",
        program->name());
  program->check_arguments(launch.buffers.size(), launch.variables.size());
  // What slots are filled with is aligned: the memory of buffers. Offsets in it are known here.
  u64 bits = 0;
  for (const Operand& buffer : launch.buffers) bits |= buffer.value;
  const Result<const NvProgram*> form = program->form_for(bits);
  CHECK(form.has_value(), "kernel {} for unaligned buffers: {}", program->name(),
        form.error().message);
  program = *form;
  const u32 bank = add_bank(*program);
  usize index = 0;
  const auto put_next = [&](const Operand& value) {
    const NvProgram::Argument& at = program->arguments()[index++];
    put_data(bank + at.word, Bits{at.is_wide ? 63u : 31u, 0}, value);
  };
  for (const Operand& buffer : launch.buffers) put_next(buffer);
  for (const Operand& variable : launch.variables) put_next(variable);
  send(*program, bank);
}

void ComputeCommands::launch(const KernelLaunch& launch) {
  const u32 bank = add_bank(launch.program);
  launch.program.write_arguments(launch, data_at(bank));
  send(launch.program, bank);
}

void ComputeCommands::send(const NvProgram& program, u32 bank) {
  const hw::Qmd& qmd = program.qmd();
  const u32 at = add_aligned(qmd.words());
  const QmdPlace bank_place = place_of(qmd.version(), QmdField::ConstantBufferAddr, at);
  put_data_link(bank_place.word, bank_place.bits, bank, bank_place.shift);
  if (last_qmd_ == kNone) {
    if (has_barrier_) wait_for_idle();
    invalidate();
    const u32 method = emit(kCompute, hw::SendPcasA{});
    const auto field = hcq::field_of<hw::SendPcasA>("qmd_address");
    put_data_address(method + field.word, field.bits, at, field.shift);
    emit(kCompute, hw::SendSignalingPcas2B{.action = hw::PcasAction::PrefetchSchedule});
    has_grids_ = true;
  } else {
    constexpr u64 kSchedule = 1;  // DEPENDENT_QMD0_ACTION_QMD_SCHEDULE
    const auto put_flag = [&](QmdField field, u64 value) {
      const QmdPlace place = place_of(qmd.version(), field, last_qmd_);
      put_data(place.word, place.bits, value, place.shift);
    };
    put_flag(QmdField::DependentQmd0Action, kSchedule);
    put_flag(QmdField::DependentQmd0Prefetch, 1);
    put_flag(QmdField::DependentQmd0Enable, 1);
    constexpr u8 kPointerShift = 8;  // the field holds the address without its lowest byte
    const QmdPlace pointer = place_of(qmd.version(), QmdField::DependentQmd0Pointer, last_qmd_);
    put_data_link(pointer.word, pointer.bits, at, kPointerShift);
    has_barrier_ = false;
  }
  last_qmd_ = at;
}

}  // namespace doorbell::nv
