// The filter in front of the registers, and the kernel that tests run.
#include "tests/drivers/amd_emulated/pci_machine.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "emulator/amd/bare/made_tables.h"

namespace doorbell::amd {
namespace {

class FilterTrap final : public os::MmioTrap {
 public:
  FilterTrap(os::MappedRegisters inner, const WriteFilter& filter, const bool& is_dead)
      : inner_(std::move(inner)), filter_(filter), is_dead_(is_dead) {}
  u64 read(u64 offset, unsigned) override {
    return is_dead_ ? ~u32{0} : inner_.mmio.read32(offset);
  }
  // What goes through the window to registers beyond the region is the register's that it names.
  void write(u64 offset, unsigned, u64 value) override {
    u32 word = static_cast<u32>(value);
    if (is_dead_) return;
    if (offset / 4 == address_of(hw::Reg::BifBxPf0RsmuIndex)) {
      behind_ = word / 4;
      return inner_.mmio.write32(offset, word);
    }
    const bool is_behind = offset / 4 == address_of(hw::Reg::BifBxPf0RsmuData);
    if (filter_(is_behind ? behind_ : offset / 4, word)) inner_.mmio.write32(offset, word);
  }
  u64 size() const { return inner_.mmio.size(); }

 private:
  os::MappedRegisters inner_;
  const WriteFilter& filter_;
  const bool& is_dead_;
  u64 behind_ = 0;
};

class FilteredFile final : public os::File {
 public:
  FilteredFile(std::unique_ptr<os::File> inner, const WriteFilter& filter, const bool& is_dead)
      : inner_(std::move(inner)), filter_(filter), is_dead_(is_dead) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    return inner_->read_at(offset, into);
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    return inner_->write_at(offset, bytes);
  }
  Result<u64> size() override { return inner_->size(); }
  Result<os::Mapping> map(const os::MapRequest& request) override { return inner_->map(request); }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    Result<os::MappedRegisters> mapped = inner_->map_registers(request);
    if (!mapped) return std::move(mapped).error();
    auto* trap = new FilterTrap(std::move(*mapped), filter_, is_dead_);
    os::Mapping mapping(
        nullptr, request.size,
        [](void* context, u8*, usize) { delete static_cast<FilterTrap*>(context); }, trap);
    return os::MappedRegisters{std::move(mapping), os::Mmio(*trap, trap->size())};
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return inner_->ioctl(request, argument);
  }
  int descriptor() const override { return inner_->descriptor(); }

 private:
  std::unique_ptr<os::File> inner_;
  const WriteFilter& filter_;
  const bool& is_dead_;
};

}  // namespace

Result<std::unique_ptr<os::File>> FilteredFiles::open(const std::string& path, os::Access access) {
  Result<std::unique_ptr<os::File>> file = ForwardedFiles::open(path, access);
  if (!file || !path.ends_with("/resource5")) return file;
  return std::make_unique<FilteredFile>(std::move(*file), filter_, is_dead);
}

u64 address_of(hw::Reg reg, hw::BareChip chip, u32 instance) {
  const hw::RegisterPlace& place = hw::place_of(reg, chip);
  return emu::amdgpu::bases_of(place.block, chip, instance)[place.segment] + place.offset;
}

u64 seed() {
  const char* const text = std::getenv("DOORBELL_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

std::string run_kernel(AmdDevice& device, const std::string& chip, u32 private_bytes) {
  using core::Buffer;
  std::array<u32, 32> in, out{};
  for (u32 i = 0; i < in.size(); ++i) in[i] = 3 * i;
  const auto a = Buffer::allocate(device, sizeof in), b = Buffer::allocate(device, sizeof in);
  if (!a) return a.error().message;
  if (!b) return b.error().message;
  if (Result<void> copied = (*a)->copy_in(in.data(), sizeof in); !copied)
    return copied.error().message;
  core::Binary binary = compiled_kernel(chip);
  // .rodata; private_segment_fixed_size is its second word.
  const usize descriptor = chip == "gfx942" ? 0x580 : 0x300;
  std::memcpy(&binary.image[descriptor + 4], &private_bytes, sizeof private_bytes);
  Result<std::unique_ptr<core::Program>> program = device.load(binary);
  if (!program) return program.error().message;
  const core::BufferView views[] = {{a->get(), 0}, {b->get(), 0}};
  if (Result<void> launched = (*program)->launch(views, {}); !launched)
    return launched.error().message;
  if (Result<void> copied = (*b)->copy_out(out.data(), sizeof out); !copied)
    return copied.error().message;
  for (u32 i = 0; i < out.size(); ++i)
    if (out[i] != 3 * i + 7) return fmt::format("b[{}] is {}", i, out[i]);
  return "";
}

}  // namespace doorbell::amd
