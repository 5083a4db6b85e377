// From a kernel descriptor to the packets of a launch.
#include "drivers/amd/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hw/abi/elf_chip.h"
#include "drivers/amd/hw/abi/kernel_args.h"
#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/program_registers.h"

namespace doorbell::amd {
namespace {

constexpr u32 kMaxItems = 1024;  // in a group

u32 round_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

// A register whose bits only the compiler knows.
template <const hw::Register& kWhich>
struct Raw {
  static constexpr u32 kWords = 1;
  static constexpr const hw::Register& kRegister = kWhich;
  u32 value = 0;
  static constexpr void fields(auto& p, auto f) { f("value", word(0), p.value); }
};

}  // namespace

AmdProgram::AmdProgram(const core::Binary& binary, AmdDevice& device)
    : device_(device),
      caps_(device.caps()),
      name_(device.keep_name(binary.name)),
      params_(binary.param_count),
      variables_(binary.variable_count),
      unaligned_(binary) {}

AmdProgram::~AmdProgram() { device_.code().release(code_, device_.fence()); }

Result<std::unique_ptr<core::Program>> AmdProgram::make(const core::Binary& binary,
                                                        AmdDevice& device) {
  TRY(CodeObject object, CodeObject::load(binary.image, binary.name));
  std::unique_ptr<AmdProgram> program(new AmdProgram(binary, device));
  program->descriptor_ = object.descriptor;
  TRY(program->check_chip(object));
  TRY(program->check_group(binary, object.metadata));
  TRY(program->check());
  TRY(program->code_, device.code().allocate(object.image.size(), object.alignment, binary.name,
                                             object.entry_offset));
  object.relocate(program->code_.address);
  TRY(device.write_code(program->code_.address, object.image));
  program->entry_ = program->code_.address + object.entry_offset;
  program->descriptor_address_ = program->code_.address + object.descriptor_offset;
  TRY(const Scratch scratch, device.scratch(object.descriptor.private_segment_fixed_size));
  program->make_packet(binary);
  TRY(program->make_dispatch(binary, scratch));
  return std::unique_ptr<core::Program>(std::move(program));
}

// Code of another chip may decode here, as other instructions.
Result<void> AmdProgram::check_chip(const CodeObject& object) const {
  const u32 flags = object.elf_flags;
  const std::string_view chip = hw::chip_of_elf_flags(flags);
  if (chip != caps_.arch)
    return fail(
        ErrorKind::Invalid, "kernel {} is for {}, {} is a {}", name_,
        chip.empty() ? fmt::format("an unknown chip (ELF flags {:#x})", flags) : std::string(chip),
        device_.name(), caps_.arch);
  if (hw::is_xnack_on(flags, object.abi_version))
    return fail(ErrorKind::Unsupported,
                "kernel {} is for {} with XNACK on (ELF flags {:#x}), {} runs with XNACK off",
                name_, chip, flags, device_.name());
  return {};
}

// A larger group than the code was compiled for has too few registers, or barriers that do nothing.
Result<void> AmdProgram::check_group(const core::Binary& binary,
                                     const KernelMetadata& metadata) const {
  const auto& size = binary.group_items;
  const i64 items = size[0] * size[1] * size[2];
  if (items < 1 || items > kMaxItems)
    return fail(ErrorKind::Unsupported,
                "kernel {} has groups of {} x {} x {} items, {} runs at most {} per group", name_,
                size[0], size[1], size[2], device_.name(), kMaxItems);
  const u64 most = metadata.max_flat_workgroup_size;
  if (most != 0 && static_cast<u64>(items) > most)
    return fail(ErrorKind::Invalid,
                "kernel {} is launched with groups of {} x {} x {} items, compiled for at most {}",
                name_, size[0], size[1], size[2], most);
  const auto& wanted = metadata.reqd_workgroup_size;
  if (wanted[0] != 0 && !std::equal(wanted.begin(), wanted.end(), size))
    return fail(
        ErrorKind::Invalid,
        "kernel {} is launched with groups of {} x {} x {} items, compiled for {} x {} x {}", name_,
        size[0], size[1], size[2], wanted[0], wanted[1], wanted[2]);
  return {};
}

// Refuses kernels that would hang or fault.
Result<void> AmdProgram::check() {
  if (descriptor_.group_segment_fixed_size > device_.local_bytes())
    return fail(ErrorKind::Unsupported, "kernel {} needs {} bytes of local memory, {} has {}",
                name_, descriptor_.group_segment_fixed_size, device_.name(), device_.local_bytes());
  if (descriptor_.enable_wavefront_size32 && !caps_.has_wave32)
    return fail(ErrorKind::Invalid, "kernel {} has waves of 32, {} has only waves of 64", name_,
                caps_.arch);
  if (descriptor_.enable_sgpr_queue_ptr || descriptor_.enable_sgpr_dispatch_id)
    return fail(ErrorKind::Unsupported,
                "kernel {} uses the SGPRs queue_ptr or dispatch_id, which are not supported",
                name_);
  const u32 given = static_cast<u32>(params_ + variables_) * hw::kArgumentBytes;
  // 0: not specified. [LLVM AMDGPUUsage "Kernel Descriptor", KERNARG_SIZE]
  if (descriptor_.kernarg_size != 0 && descriptor_.kernarg_size < given)
    return fail(ErrorKind::Invalid,
                "kernel {} takes {} bytes of arguments, but {} buffers and {} variables are {}",
                name_, descriptor_.kernarg_size, params_, variables_, given);
  const u32 taken = std::max(descriptor_.kernarg_size, given);
  argument_words_ = round_up(taken, kArgumentAlignmentWords * 4) / 4;
  return {};
}

void AmdProgram::make_packet(const core::Binary& binary) {
  hw::KernelDispatchPacket packet;
  packet.barrier = false;
  packet.acquire = hw::FenceScope::Agent;
  packet.release = hw::FenceScope::Agent;
  packet.workgroup_size_x = static_cast<u16>(binary.group_items[0]);
  packet.workgroup_size_y = static_cast<u16>(binary.group_items[1]);
  packet.workgroup_size_z = static_cast<u16>(binary.group_items[2]);
  packet.grid_size_x = static_cast<u32>(binary.grid_groups[0] * binary.group_items[0]);
  packet.grid_size_y = static_cast<u32>(binary.grid_groups[1] * binary.group_items[1]);
  packet.grid_size_z = static_cast<u32>(binary.grid_groups[2] * binary.group_items[2]);
  packet.private_segment_size = descriptor_.private_segment_fixed_size;
  packet.group_segment_size = descriptor_.group_segment_fixed_size;
  packet.kernel_object = descriptor_address_;
  packet_ = encode(packet);
  if (descriptor_.enable_sgpr_dispatch_ptr) packet_words_.assign(packet_.begin(), packet_.end());
}

// The words of a SET_SH_REG; the index of the value's first.
template <class R>
u32 AmdProgram::set_register(const R& value) {
  const auto words = hw::set_sh_reg(caps_.generation, value);
  dispatch_words_.insert(dispatch_words_.end(), words.begin(), words.end());
  return static_cast<u32>(dispatch_words_.size()) - R::kWords;
}

Result<void> AmdProgram::make_dispatch(const core::Binary& binary, const Scratch& scratch) {
  auto rsrc1 = decode<hw::ComputePgmRsrc1>(std::array{descriptor_.rsrc1});
  auto rsrc2 = decode<hw::ComputePgmRsrc2>(std::array{descriptor_.rsrc2});
  if (caps_.privileged_waves) rsrc1.priv = true;
  rsrc2.lds_size = static_cast<u16>(
      round_up(descriptor_.group_segment_fixed_size, caps_.local_granule) / caps_.local_granule);
  set_register(hw::ComputePgm{.entry = entry_});
  set_register(rsrc1);
  set_register(rsrc2);
  // Its bits differ by chip; the compiler knows them.
  set_register(Raw<hw::kComputePgmRsrc3>{descriptor_.rsrc3});
  set_register(Raw<hw::kComputeTmpringSize>{scratch.ring_size});
  if (caps_.architected_scratch)
    set_register(hw::ComputeDispatchScratchBase{.base = scratch.address});
  set_register(hw::ComputeRestart{});
  TRY(add_user_data(scratch));
  set_register(hw::ComputeResourceLimits{});
  set_register(hw::ComputeStart{});
  set_register(hw::ComputeNumThread{.x = static_cast<u16>(binary.group_items[0]),
                                    .y = static_cast<u16>(binary.group_items[1]),
                                    .z = static_cast<u16>(binary.group_items[2])});
  const u32 initiator =
      encode(hw::DispatchInitiator{.cs_w32_en = descriptor_.enable_wavefront_size32})[0];
  const auto launch = encode(hw::DispatchDirect{.x = static_cast<u32>(binary.grid_groups[0]),
                                                .y = static_cast<u32>(binary.grid_groups[1]),
                                                .z = static_cast<u32>(binary.grid_groups[2]),
                                                .initiator = initiator});
  dispatch_words_.insert(dispatch_words_.end(), launch.begin(), launch.end());
  return {};
}

// In the order of the kernel descriptor's bits.
// [LLVM AMDGPUUsage, "Initial Kernel Execution State"]
Result<void> AmdProgram::add_user_data(const Scratch& scratch) {
  std::vector<u32> values;
  std::vector<DataAddress> addresses;  // a word counts in `values`
  const auto add_address = [&](u64 address) {
    values.push_back(static_cast<u32>(address));
    values.push_back(static_cast<u32>(address >> 32));
  };
  if (descriptor_.enable_sgpr_private_segment_buffer) {
    const auto resource = encode(scratch_resource(scratch, descriptor_.enable_wavefront_size32));
    values.insert(values.end(), resource.begin(), resource.end());
  }
  if (descriptor_.enable_sgpr_dispatch_ptr) {
    addresses.push_back({static_cast<u32>(values.size()), argument_words_});
    add_address(0);
  }
  if (descriptor_.enable_sgpr_kernarg_segment_ptr) {
    addresses.push_back({static_cast<u32>(values.size()), 0});
    add_address(0);
  }
  if (descriptor_.enable_sgpr_flat_scratch_init) add_address(scratch.address);
  if (descriptor_.enable_sgpr_private_segment_size)
    values.push_back(descriptor_.private_segment_fixed_size);
  // A compiler may load more SGPRs than the kernel uses.
  const auto rsrc2 = decode<hw::ComputePgmRsrc2>(std::array{descriptor_.rsrc2});
  if (rsrc2.user_sgpr < values.size() || rsrc2.user_sgpr > hw::kUserDataRegisters)
    return fail(ErrorKind::Corrupt, "kernel {} loads {} user SGPRs, its descriptor enables {}",
                name_, rsrc2.user_sgpr, values.size());
  values.resize(rsrc2.user_sgpr);
  if (values.empty()) return {};
  const u32 count = static_cast<u32>(values.size());
  const auto header = encode(hw::SetShReg{
      .count = hw::count_of(hw::SetShReg::kWords + count),
      .offset = static_cast<u16>(hw::kComputeUserData0.at(caps_.generation) - hw::kShRegStart)});
  dispatch_words_.insert(dispatch_words_.end(), header.begin(), header.end());
  const u32 first = static_cast<u32>(dispatch_words_.size());
  dispatch_words_.insert(dispatch_words_.end(), values.begin(), values.end());
  for (const DataAddress& address : addresses)
    data_addresses_.push_back({first + address.word, address.offset_words});
  return {};
}

Result<void> AmdProgram::launch(std::span<const core::BufferView> buffers,
                                std::span<const i64> variables) {
  u64 bits = 0;
  for (const core::BufferView& view : buffers)
    bits |= view.buffer->memory().address + static_cast<u64>(view.offset);
  TRY(const AmdProgram* form, form_for(bits));
  return device_.launch_queue().launch({*form, buffers, variables}, device_.unfinished_copies());
}

Result<const AmdProgram*> AmdProgram::form_for(u64 address_bits) const {
  if (!unaligned_.is_needed(address_bits)) [[likely]]
    return this;
  TRY(const core::Program* form, unaligned_.get(device_));
  return static_cast<const AmdProgram*>(form);
}

void AmdProgram::write_arguments(const KernelLaunch& launch, std::span<u32> words) const {
  check_arguments(launch.buffers.size(), launch.variables.size());
  u32* next = words.data();
  const auto write = [&](u64 argument) {
    static_assert(sizeof argument == hw::kArgumentBytes);
    std::memcpy(next, &argument, sizeof argument);
    next += sizeof argument / sizeof(u32);
  };
  for (const core::BufferView& view : launch.buffers) {
    CHECK(&view.buffer->device() == &device_, "kernel {} of {} with a buffer of {}", name_,
          device_.name(), view.buffer->device().name());
    write(view.buffer->memory().address + static_cast<u64>(view.offset));
  }
  for (const i64 variable : launch.variables) write(static_cast<u64>(variable));
}

void AmdProgram::check_arguments(usize buffers, usize variables) const {
  CHECK(buffers == params_ && variables == variables_,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers, variables,
        params_, variables_);
}

}  // namespace doorbell::amd
