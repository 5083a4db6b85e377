// Every instruction of cases.cc on values that are hard for it: what PTX says it does, and what the
// machine code that NVIDIA's compiler makes of it does on the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/emulator/nv/ptx/cases.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {
namespace {

constexpr u32 kThreads = 128, kBlocks = 4, kSourceBytes = 64;

u64 seed() {
  const char* text = std::getenv("DOORBELL_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
}

const Type& type_named(std::string_view name) {
  static std::map<std::string, Type, std::less<>> types;
  const auto found = types.find(name);
  if (found != types.end()) return found->second;
  Instruction instruction;
  const auto read = read_name("mov." + std::string(name), &instruction);
  EXPECT_TRUE(read) << name;
  return types[std::string(name)] = instruction.type();
}

// ---- the kernel around the instructions

std::string store_of(const Type& type, usize slot) {
  const u32 bits = type.all_bits();
  const char* result = bits == 64 ? "%d0" : bits == 16 ? "%h0" : "%r0";
  return fmt::format("st.global.b{} [%to+{}], {};", bits, 8 * slot, result);
}

std::string kernel_of(const std::vector<const Case*>& cases, const std::string& chip) {
  std::string text = fmt::format(R"(.version {}
.target {}
.address_size 64
.visible .entry test(.param .u64 out, .param .u64 in) .reqntid {}, 1, 1
{{
.reg .pred %p<10>;
.reg .b16 %ha, %hb, %hc, %h<2>, %s<10>;
.reg .b32 %ra, %rb, %rc, %re, %r<2>, %t<10>, %i, %j, %k;
.reg .b64 %da, %db, %dc, %d<2>, %u<10>, %to, %from;
ld.param.u64 %to, [out];
ld.param.u64 %from, [in];
mov.u32 %i, %tid.x;
mov.u32 %j, %ctaid.x;
mad.lo.u32 %i, %j, {}, %i;
mad.wide.u32 %from, %i, {}, %from;
mad.wide.u32 %to, %i, {}, %to;
ld.global.v4.b32 {{%ra, %rb, %rc, %re}}, [%from];
ld.global.v2.b64 {{%da, %db}}, [%from+16];
ld.global.b64 %dc, [%from+32];
ld.global.b16 %ha, [%from+40];
ld.global.b16 %hb, [%from+42];
ld.global.b16 %hc, [%from+44];
)",
                                 "8.1", chip, kThreads, kThreads, kSourceBytes, 8 * cases.size());
  for (usize i = 0; i < cases.size(); ++i)
    text += cases[i]->text + "\n" + store_of(type_named(cases[i]->type), i) + "\n";
  return text + "ret;\n}\n";
}

// ---- the values

// A float's bits: zeros, subnormals, powers of two, the largest, infinities, NaN, integers and
// halves of them, and any.
u64 float_bits(std::mt19937_64& random, const Format& format) {
  const u64 sign = (random() & 1) != 0 ? format.sign() : 0;
  const u64 any = random() & (format.sign() - 1);
  const u64 hidden = u64{1} << format.mantissa_bits;
  const auto near = [&](int power) {
    const u64 exponent = static_cast<u64>(format.bias() + power);
    return exponent << format.mantissa_bits | (any & (hidden - 1));
  };
  switch (random() % 16) {
    case 0: return sign;
    case 1: return sign | format.infinity();
    case 2: return sign | format.nan();
    case 3: return sign | (any & (hidden - 1));
    case 4: return sign | (format.infinity() - 1 - random() % 3);
    case 5: return sign | (hidden + random() % 3 - 1);
    case 6: return any;
    case 7:
    case 8: {
      const Number whole = from_integer(static_cast<i128>(random() % 600));
      return sign | encode(divide(whole, from_integer(2)), format, Rounding::Nearest);
    }
    case 9:
      return sign | (near(static_cast<int>(random() % 64) % format.bias()) & ~(hidden / 4 - 1));
    default: return sign | near(static_cast<int>(random() % 7) - 3);
  }
}
u64 integer_bits(std::mt19937_64& random, u32 bits) {
  const u64 mask = mask_of(bits), edge = u64{1} << (bits - 1);
  switch (random() % 8) {
    case 0: return random() % 3;
    case 1: return (0 - random() % 3) & mask;
    case 2: return (edge + random() % 3 - 1) & mask;
    case 3: return random() % 130;
    case 4: return u64{1} << (random() % bits);
    default: return random() & mask;
  }
}
u64 value_of(std::mt19937_64& random, Values values, u32 bits) {
  const auto pair = [&](const Format& format) {
    const u64 low = float_bits(random, format);
    return bits == 16 ? low : low | float_bits(random, format) << 16;
  };
  if (values == Values::Floats && bits == 32) return float_bits(random, kF32);
  if (values == Values::Doubles && bits == 64) return float_bits(random, kF64);
  if (values == Values::Halves && bits != 64) return pair(kF16);
  if (values == Values::Brains && bits != 64) return pair(kBf16);
  return integer_bits(random, bits);
}

std::vector<u8> sources_of(Values values) {
  std::mt19937_64 random(seed() * 1000 + static_cast<u64>(values));
  std::vector<u8> bytes(usize{kThreads} * kBlocks * kSourceBytes);
  for (usize thread = 0; thread < bytes.size(); thread += kSourceBytes) {
    usize at = thread;
    for (const u32 bits : {32, 32, 32, 32, 64, 64, 64, 16, 16, 16}) {
      const u64 value = value_of(random, values, bits);
      std::memcpy(bytes.data() + at, &value, bits / 8);
      at += bits / 8;
    }
    // Equal sources, and those that cancel, are not rare in kernels.
    if (random() % 8 == 0) std::memcpy(bytes.data() + thread + 4, bytes.data() + thread, 4);
    if (random() % 8 == 0) std::memcpy(bytes.data() + thread + 24, bytes.data() + thread + 16, 8);
  }
  return bytes;
}

// ---- the comparison

bool same(const Case& one, u64 a, u64 b) {
  const Type& type = type_named(one.type);
  if (!type.is_float()) return a == b;
  const Format& format = type.format == &kTf32 ? kF32 : *type.format;
  for (u32 lane = 0; lane < type.lanes; ++lane) {
    const u64 mask = mask_of(type.bits), at = lane * type.bits;
    if (!same_float(a >> at & mask, b >> at & mask, format, one.tolerance)) return false;
  }
  return true;
}

std::string sources_text(const std::vector<u8>& sources, usize thread) {
  const u8* at = sources.data() + thread * kSourceBytes;
  u32 words[4];
  u64 longs[3];
  u16 halves[3];
  std::memcpy(words, at, 16);
  std::memcpy(longs, at + 16, 24);
  std::memcpy(halves, at + 40, 6);
  return fmt::format(
      "ra {:#x}, rb {:#x}, rc {:#x}, re {:#x}, da {:#x}, db {:#x}, dc {:#x}, ha "
      "{:#x}, hb {:#x}, hc {:#x}",
      words[0], words[1], words[2], words[3], longs[0], longs[1], longs[2], halves[0], halves[1],
      halves[2]);
}

void expect_same(const std::vector<const Case*>& cases, const std::vector<u8>& sources,
                 const std::vector<u8>& text, const std::vector<u8>& code) {
  for (usize i = 0; i < cases.size(); ++i) {
    usize different = 0;
    std::string first;
    for (usize thread = 0; thread < usize{kThreads} * kBlocks; ++thread) {
      const usize at = (thread * cases.size() + i) * 8;
      u64 a = 0, b = 0;
      std::memcpy(&a, text.data() + at, 8);
      std::memcpy(&b, code.data() + at, 8);
      if (same(*cases[i], a, b)) continue;
      if (different++ != 0) continue;
      first = fmt::format("PTX {:#x}, machine code {:#x}; {}", a, b, sources_text(sources, thread));
    }
    EXPECT_EQ(different, 0u) << cases[i]->text << "\n" << first;
  }
}

struct Param {
  usize group = 0;
  u32 chip = 0;
};

class PtxInstructions : public ::testing::TestWithParam<Param> {};

TEST_P(PtxInstructions, AreWhatTheirMachineCodeDoes) {
  if (const std::string missing = missing_compiler(); !missing.empty()) GTEST_SKIP() << missing;
  const CaseGroup& group = case_groups()[GetParam().group];
  std::vector<const Case*> cases;
  for (const Case& one : group.cases)
    if (one.first_chip <= GetParam().chip) cases.push_back(&one);
  const std::string chip = fmt::format("sm_{}", GetParam().chip);
  const std::string text = kernel_of(cases, chip);
  const auto kernel = parse(text);
  ASSERT_TRUE(kernel) << to_string(kernel.error());
  const auto cubin = assemble(text, chip);
  ASSERT_TRUE(cubin) << to_string(cubin.error());
  Work work{.grid = {kBlocks, 1, 1}, .block = {kThreads, 1, 1}};
  work.buffers.emplace_back(usize{kThreads} * kBlocks * cases.size() * 8);
  work.buffers.push_back(sources_of(group.values));
  const Done by_text = run_text(*kernel, work), by_code = run_code(**cubin, work);
  ASSERT_EQ(by_text.fault, "");
  ASSERT_EQ(by_code.fault, "");
  SCOPED_TRACE(fmt::format("DOORBELL_SEED={}", seed()));
  expect_same(cases, work.buffers[1], by_text.buffers[0], by_code.buffers[0]);
}

std::vector<Param> params() {
  std::vector<Param> all;
  for (usize group = 0; group < case_groups().size(); ++group)
    for (const u32 chip : {86u, 90u}) all.push_back({group, chip});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Chips, PtxInstructions, ::testing::ValuesIn(params()),
                         [](const auto& info) {
                           return fmt::format("{}_sm_{}", case_groups()[info.param.group].name,
                                              info.param.chip);
                         });

}  // namespace
}  // namespace doorbell::ptx
