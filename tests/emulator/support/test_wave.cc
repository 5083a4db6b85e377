// Setting a wave up without a launch.
#include "tests/emulator/support/test_wave.h"

#include <algorithm>

#include "base/elf/elf_file.h"
#include "base/util/check.h"
#include "emulator/amd/isa/handlers.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::testing {

using namespace emu::amdgpu;  // NOLINT: this file is about it

TestWave::TestWave(std::string_view chip, u32 lanes)
    : wave(*find_chip(chip), lanes),
      code_(4096),
      data_(kDataBytes),
      lds_(kLdsBytes + 64),
      scratch_(kScratchLaneBytes * 64),
      memory_(space_) {
  map(kCode, code_, false, true);
  map(kData, data_, true, false);
  map(kScratch, scratch_, true, false);
  auto cache = CodeCache::create(*wave.chip, handler_set());
  CHECK(cache, "{}", cache.error().message);
  cache_ = std::move(*cache);
  wave.set_mask(kExecLo, wave.all_lanes());
  wave.lds = lds_.data();
  wave.lds_bytes = kLdsBytes;
  wave.scratch_base = wave.flat_scratch = kScratch;
  wave.scratch_bytes_per_lane = kScratchLaneBytes;
  wave.shared_aperture = u64{1} << 48;
  wave.private_aperture = u64{2} << 48;
}

void TestWave::map(u64 va, std::vector<u8>& bytes, bool writable, bool executable) {
  auto mapped = space_.map(va, bytes.size(), bytes.data(), writable, executable, {}, 0);
  CHECK(mapped, "{}", mapped.error().message);
}

void TestWave::load(std::string_view assembly) {
  const Chip& chip = *wave.chip;
  const bool both = chip.wave32 && chip.wave64;
  const char* features = both && wave.lanes == 64 ? "-wavefrontsize32,+wavefrontsize64" : "";
  const std::string text = ".text\n" + std::string(assembly) + "\ns_endpgm\n";
  auto object = assemble(text, std::string(chip.name), features);
  CHECK(object, "{}: {}", assembly, object.error().message);
  auto file = elf::ElfFile::parse(*object);
  CHECK(file, "{}", file.error().message);
  const std::span<const u8> bytes = file->find_section(".text")->data;
  CHECK_LE(bytes.size(), code_.size());
  std::fill(code_.begin(), code_.end(), 0);
  std::copy(bytes.begin(), bytes.end(), code_.begin());
  cache_->begin_dispatch();
  loaded_ = assembly;
}

Exit TestWave::run(std::string_view assembly) {
  if (assembly != loaded_) load(assembly);
  wave.pc = kCode;
  return emu::amdgpu::run(wave, memory_, *cache_, 100'000);
}

}  // namespace doorbell::testing
