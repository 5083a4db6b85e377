// One function for each operation.
#include "drivers/nv/commands.h"

#include <algorithm>

#include "base/util/check.h"
#include "drivers/nv/hw/copy/methods.h"

namespace doorbell::nv {

using hcq::Operand;

void NvCommands::set_up() { emit(kCopy, hw::SetObject{.class_id = classes_.copy}); }

void NvCommands::semaphore(Operand address, Operand value, const hw::Semaphore& record) {
  const u32 at = emit(kHost, record);
  set(at, hcq::field_of<hw::Semaphore>("addr"), address);
  set(at, hcq::field_of<hw::Semaphore>("payload"), value);
  if (record.release_wfi) became_idle();
}

void NvCommands::put_address(u32 at, hcq::Field upper, const hcq::Field& lower, Operand address) {
  upper.shift = 32;
  set(at, upper, address);
  set(at, lower, address);
}

void NvCommands::wait(Operand address, Operand value) {
  semaphore(address, value, {.operation = hw::SemOperation::AcqCircGeq, .payload_64bit = true});
}

// By the copy engine, behind its copies. Timelines stay below 2^31; not every class has the upper
// half of the payload.
void NvCommands::signal(Operand address, Operand value) {
  constexpr u16 kWords = 3;
  const u32 at = emit_some(kCopy, hw::CopySemaphore{}, kWords);
  put_address(at, hcq::field_of<hw::CopySemaphore>("addr_upper"),
              hcq::field_of<hw::CopySemaphore>("addr_lower"), address);
  set(at, hcq::field_of<hw::CopySemaphore>("payload"), value);
  // The interrupt is the engine's own: the host engine does not wait for it.
  emit(kCopy, hw::CopyLaunch{.flush_enable = true,
                             .semaphore = hw::CopySemaphoreType::Release,
                             .interrupt = hw::CopyInterrupt::NonBlocking,
                             .src_pitch = false,
                             .dst_pitch = false});
}

void NvCommands::write(Operand address, Operand value) {
  semaphore(address, value,
            {.operation = hw::SemOperation::Release, .release_wfi = true, .payload_64bit = true});
}

void NvCommands::timestamp(Operand address) {
  semaphore(address, u64{0},
            {.operation = hw::SemOperation::Release,
             .release_wfi = true,
             .payload_64bit = true,
             .release_timestamp = true});
}

void NvCommands::memory_barrier() {
  // Copies begin when those before them are done (NonPipelined).
}

void NvCommands::poll_bit(Operand address, u64 bit, bool is_set) {
  // AcqNor passes once ~(memory | payload) is not 0.
  semaphore(address, is_set ? bit : ~bit,
            {.operation = is_set ? hw::SemOperation::AcqAnd : hw::SemOperation::AcqNor,
             .payload_64bit = true});
}

void NvCommands::poll(Operand address, Operand value, u64 mask) {
  if (mask == ~u64{0})
    return semaphore(address, value,
                     {.operation = hw::SemOperation::Acquire, .payload_64bit = true});
  CHECK(!value.is_slot(), "a poll of the bits {:#x} for a value that changes", mask);
  for (u64 left = mask; left != 0; left &= left - 1) {
    const u64 bit = left & (~left + 1);
    poll_bit(address, bit, (value.value & bit) != 0);
  }
}

void NvCommands::exec(const hcq::Launch&) { UNREACHABLE("a launch on a copy channel"); }

void NvCommands::copy(Operand to, Operand from, u64 bytes) {
  constexpr u64 kMostBytes = u64{1} << 31;
  using hcq::field_of;
  for (u64 done = 0; done < bytes;) {
    const u64 now = std::min(bytes - done, kMostBytes);
    // One line, so that pitches and LINE_COUNT do not count (MULTI_LINE_ENABLE).
    constexpr u16 kAddressWords = 4;
    constexpr u32 kLineLength = 6;
    const hw::CopyExtent extent{.line_length = static_cast<u32>(now)};
    const u32 at = emit_some(kCopy, extent, kAddressWords);
    put_address(at, field_of<hw::CopyExtent>("in_upper"), field_of<hw::CopyExtent>("in_lower"),
                from + done);
    put_address(at, field_of<hw::CopyExtent>("out_upper"), field_of<hw::CopyExtent>("out_lower"),
                to + done);
    emit_some(kCopy, extent, 1, kLineLength);
    emit(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined, .flush_enable = true});
    done += now;
  }
}

}  // namespace doorbell::nv
