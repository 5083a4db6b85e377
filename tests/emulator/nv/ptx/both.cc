// Gives each side a copy of the same buffers, at the same addresses.
#include "tests/emulator/nv/ptx/both.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <regex>

#include "base/util/check.h"
#include "base/util/try.h"
#include "codegen/compile/nvjitlink_compiler.h"
#include "drivers/nv/hw/isa/chip.h"
#include "emulator/nv/compute/launch.h"
#include "emulator/nv/compute/rules.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

using emu::nvgpu::Cubin;

u64 address_of(usize buffer) { return (u64{buffer} + 1) << 32; }

std::vector<u8> parameters_of(const Work& work) {
  std::vector<u8> parameters((work.buffers.size() + work.variables.size()) * 8);
  u8* at = parameters.data();
  for (usize i = 0; i < work.buffers.size(); ++i, at += 8) {
    const u64 address = address_of(i);
    std::memcpy(at, &address, 8);
  }
  for (const i64 variable : work.variables) {
    std::memcpy(at, &variable, 8);
    at += 8;
  }
  return parameters;
}

}  // namespace

std::string missing_compiler() {
  const auto version = codegen::ptx_of_nvjitlink(codegen::testing::nv_folders());
  return version ? "" : version.error().message;
}

Result<std::unique_ptr<Cubin>> assemble(const std::string& text, const std::string& chip) {
  const std::string architecture(nv::hw::find_chip(chip)->architecture);
  TRY(const auto compiler,
      codegen::make_nvjitlink_compiler(architecture, codegen::testing::nv_folders(),
                                       std::make_unique<GivenPtx>(text)));
  codegen::LinearProgram program;
  program.name = "ptx";
  TRY(const std::vector<u8> image, compiler->compile(program, ""));
  TRY(std::unique_ptr<Cubin> cubin, Cubin::parse(image));
  cubin->place(0);
  return cubin;
}

Done run_text(const Kernel& kernel, const Work& work) {
  Done done{.buffers = work.buffers};
  Grid grid{.grid = work.grid,
            .block = work.block,
            .parameters = parameters_of(work),
            .dynamic_shared = work.dynamic_shared};
  // LLVM loads all 16 bytes where an aligned vector of them begins in the buffer.
  constexpr usize kVector = 16;
  for (usize i = 0; i < done.buffers.size(); ++i) {
    std::vector<u8>& bytes = done.buffers[i];
    bytes.resize((bytes.size() + kVector - 1) / kVector * kVector);
    grid.memory.push_back({address_of(i), bytes});
  }
  grid.most_instructions = work.most_instructions;
  Outcome outcome = run(kernel, grid);
  done.fault = std::move(outcome.fault);
  done.too_long = outcome.too_long;
  for (usize i = 0; i < done.buffers.size(); ++i) done.buffers[i].resize(work.buffers[i].size());
  return done;
}

Done run_code(const Cubin& cubin, const Work& work) {
  constexpr u64 kPage = emu::AddressSpace::kPage;
  Done done{.buffers = work.buffers};
  emu::AddressSpace memory;
  for (usize i = 0; i < done.buffers.size(); ++i) {
    std::vector<u8>& bytes = done.buffers[i];
    if (bytes.empty()) continue;
    bytes.resize((bytes.size() + kPage - 1) / kPage * kPage);
    const u32 buffer = memory.add_buffer({address_of(i), bytes.size(), "buffer", 0, 0, 0});
    const auto mapped = memory.map(address_of(i), bytes.size(), bytes.data(), true, false,
                                   emu::MemoryType{}, buffer);
    CHECK(mapped.has_value(), "{}", to_string(mapped.error()));
  }
  const std::vector<u8> parameters = parameters_of(work);
  const emu::nvgpu::Launch launch{.grid = work.grid,
                                  .block = work.block,
                                  .dynamic_shared = work.dynamic_shared,
                                  .parameters = parameters,
                                  .most_instructions = 100'000'000};
  emu::Checks checks(emu::Level::Error);
  const auto result = emu::nvgpu::launch(cubin, cubin.kernels().at(0), launch, memory, checks);
  if (!result) {
    done.fault = to_string(result.error());
  } else if (result->fault) {
    done.fault = to_string(*result->fault);
  }
  for (usize i = 0; i < done.buffers.size(); ++i) done.buffers[i].resize(work.buffers[i].size());
  return done;
}

bool same_float(u64 a, u64 b, const Format& format, const Tolerance& tolerance) {
  if (a == b) return true;
  const Number x = decode(a, format), y = decode(b, format);
  if (x.is_nan() || y.is_nan()) return x.is_nan() && y.is_nan();
  if (tolerance.any_zero && x.is_zero() && y.is_zero()) return true;
  if (tolerance.ulps == 0 && tolerance.absolute == 0) return false;
  const auto place = [&](u64 bits) {
    const i64 magnitude = static_cast<i64>(bits & (format.sign() - 1));
    return (bits & format.sign()) != 0 ? -magnitude : magnitude;
  };
  if (static_cast<u64>(std::abs(place(a) - place(b))) <= tolerance.ulps) return true;
  const auto value = [](const Number& n) {
    return std::bit_cast<f64>(encode(n, kF64, Rounding::Nearest));
  };
  return std::abs(value(x) - value(y)) <= tolerance.absolute;
}

std::string with_roundings(const std::string& text) {
  static const std::regex kPlain(R"(\b(add|sub|mul)((\.ftz)?(\.sat)?\.b?f(16|32|64)(x2)?\b))");
  return std::regex_replace(text, kPlain, "$1.rn$2");
}

}  // namespace doorbell::ptx
