// The formats' places of opcodes.
// [RDNA2, RDNA3, RDNA4 and CDNA3 ISA documents, chapter "Microcode formats"]
#include "tests/emulator/amd/isa/decode/opcode_space.h"

namespace doorbell::testing {

namespace {

using emu::amdgpu::Generation;

// A format: its fixed bits, where the opcode is, and what else to fill in, one after the other.
struct Format {
  u32 word = 0;
  u32 shift = 0, bits = 0;  // of the opcode, in the first word
  std::vector<Words> forms;
};

constexpr u32 kDpp16 = 0xff00e400;  // quad_perm:[0,1,2,3], all rows and banks, v0
constexpr u32 kSdwa = 0x06060600;   // whole dwords, v0

// First sources of VOP1, VOP2, VOPC: a scalar, a vector, and those that a word more describes.
std::vector<Words> vector_forms(bool sdwa, bool dpp8) {
  std::vector<Words> forms = {{0}, {0x100}, {0xfa, kDpp16}};
  if (sdwa) forms.push_back({0xf9, kSdwa});
  if (dpp8) forms.push_back({0xe9});
  return forms;
}

// Sources of VOP3 and VOP3P, all vectors, all scalar, and mixed as lane accesses need them.
constexpr u32 kVectors = 0x100 | 0x101 << 9 | 0x102 << 18;

std::vector<Words> vop3_forms(bool dpp) {
  std::vector<Words> forms = {{0, kVectors}, {0, 0}, {0, 0x100}, {0, 0x101u << 9}};
  if (dpp) {
    forms.push_back({0, (kVectors & ~0x1ffu) | 0xfa, kDpp16});
    forms.push_back({0, (kVectors & ~0x1ffu) | 0xe9, 0});
  }
  return forms;
}

// VOP3P's sources with op_sel_hi set, without which LLVM knows no matrix instruction of gfx12.
std::vector<Words> vop3p_forms(bool dpp) {
  std::vector<Words> forms = vop3_forms(dpp);
  forms.push_back({1u << 14, kVectors | 3u << 27});
  return forms;
}

// MFMA: results in accumulation registers or not; cbsz and blgp name the formats of gfx950's.
std::vector<Words> mfma_forms() {
  std::vector<Words> forms = {{0x8000, kVectors}};
  for (u32 cbsz : {0u, 2u, 4u}) {
    for (u32 blgp : {0u, 2u, 4u}) forms.push_back({cbsz << 8, kVectors | blgp << 29});
  }
  return forms;
}

// All combinations of the bits, over `start`.
std::vector<Words> combinations(Words start, const std::vector<std::pair<u32, u32>>& bits) {
  std::vector<Words> forms = {start};
  for (auto [word, bit] : bits) {
    const usize before = forms.size();
    for (usize i = 0; i < before; ++i) {
      forms.push_back(forms[i]);
      forms.back()[word] |= 1u << bit;
    }
  }
  return forms;
}

std::vector<Format> scalar_formats() {
  return {{0x80000000, 23, 7, {{0}}},
          {0xb0000000, 23, 5, {{0}}},
          {0xbe800000, 8, 8, {{0}, {0x7d}}},  // 125 is M0 of gfx11 and gfx12
          {0xbf000000, 16, 7, {{0}}},
          {0xbf800000, 16, 7, {{0}}}};
}
std::vector<Format> vector_formats(bool sdwa, bool dpp8) {
  const std::vector<Words> forms = vector_forms(sdwa, dpp8);
  return {{0, 25, 6, forms}, {0x7e000000, 9, 8, forms}, {0x7c000000, 17, 8, forms}};
}

std::vector<Format> gfx9_formats() {
  return {{0xc0000000, 18, 8, combinations({0}, {{0, 17}, {0, 14}, {0, 16}})},
          {0xd0000000, 16, 10, vop3_forms(false)},
          {0xd3800000, 16, 7, mfma_forms()},
          // gfx950: v_mfma_ld_scale_b32 and v_mfma_f32_*_f8f6f4 as one instruction.
          {0xd3ac0000, 0, 0, {{0, kVectors, 0xd3ad0000, kVectors}}},
          {0xd3ac0000, 0, 0, {{0, kVectors, 0xd3ae0000, kVectors}}},
          {0xd3800000, 16, 7, vop3_forms(false)},
          {0xd8000000, 17, 8, {{0}, {1u << 16}}},
          {0xdc000000, 18, 7, combinations({0, 0x7f << 16}, {{0, 13}, {0, 14}, {0, 15}, {0, 16}})},
          {0xdc000000, 18, 7, combinations({0}, {{0, 13}, {0, 14}, {0, 15}, {0, 16}})},
          {0xe0000000, 18, 7, combinations({0}, {{0, 12}, {0, 13}, {0, 14}, {0, 16}})},
          {0xe8000000, 15, 4, combinations({0}, {{0, 12}, {0, 13}})}};
}
std::vector<Format> gfx10_formats() {
  return {{0xf4000000, 18, 8, {{0, 0x7du << 25}, {0}, {1 << 16, 0x7du << 25}}},
          {0xd4000000, 16, 10, vop3_forms(false)},
          {0xcc000000, 16, 7, vop3p_forms(false)},
          {0xd8000000, 18, 8, {{0}, {1u << 17}}},
          {0xdc000000, 18, 7, combinations({0, 0x7d << 16}, {{0, 13}, {0, 14}, {0, 15}, {0, 16}})},
          {0xdc000000, 18, 7, combinations({0}, {{0, 13}, {0, 14}, {0, 15}, {0, 16}})},
          {0xe0000000, 18, 8, combinations({0}, {{0, 12}, {0, 13}, {0, 14}, {0, 16}, {1, 23}})},
          {0xe8000000, 16, 3, combinations({0}, {{0, 12}, {0, 13}, {1, 21}, {1, 23}})}};
}
std::vector<Format> gfx11_formats() {
  return {{0xf4000000, 18, 8, {{0, 0x7cu << 25}, {0}}},
          {0xd4000000, 16, 10, vop3_forms(true)},
          {0xcc000000, 16, 7, vop3p_forms(true)},
          {0xc8000000, 17, 9, {{0x100, 0x101}}},
          {0xd8000000, 18, 8, {{0}, {1u << 17}}},
          {0xdc000000, 18, 7, combinations({0, 0x7c << 16}, {{0, 14}, {0, 16}, {0, 17}, {1, 23}})},
          {0xdc000000, 18, 7, combinations({0}, {{0, 14}, {0, 16}, {0, 17}, {1, 23}})},
          {0xe0000000, 18, 8, combinations({0}, {{0, 14}, {1, 21}, {1, 22}, {1, 23}})},
          {0xe8000000, 15, 4, combinations({0}, {{1, 21}, {1, 22}, {1, 23}})}};
}
std::vector<Format> gfx12_formats() {
  return {{0xf4000000, 13, 6, {{0, 0x7cu << 25}, {0}}},
          {0xd4000000, 16, 10, vop3_forms(true)},
          {0xcc000000, 16, 7, vop3p_forms(true)},
          {0xc8000000, 17, 9, {{0x100, 0x101}}},
          {0xd8000000, 18, 8, {{0}}},
          {0xec000000, 14, 7, combinations({0x7c}, {{1, 20}})},
          {0xed000000, 14, 7, combinations({0x7c}, {{1, 17}, {1, 20}})},
          {0xed000000, 14, 7, combinations({0}, {{1, 17}, {1, 20}})},
          {0xee000000, 14, 7, combinations({0x7c}, {{1, 20}})},
          {0xee000000, 14, 7, combinations({0}, {{1, 20}})},
          {0xc4000000, 14, 8, combinations({0x7c}, {{0, 22}, {1, 20}, {1, 30}, {1, 31}})}};
}

}  // namespace

std::vector<Words> opcode_space(Generation generation) {
  std::vector<Format> formats = scalar_formats();
  const auto add = [&](const std::vector<Format>& more) {
    formats.insert(formats.end(), more.begin(), more.end());
  };
  add(vector_formats(generation <= Generation::Gfx10, generation >= Generation::Gfx10));
  switch (generation) {
    case Generation::Gfx9: add(gfx9_formats()); break;
    case Generation::Gfx10: add(gfx10_formats()); break;
    case Generation::Gfx11: add(gfx11_formats()); break;
    case Generation::Gfx12: add(gfx12_formats()); break;
  }
  std::vector<Words> space;
  for (const Format& format : formats) {
    for (u32 opcode = 0; opcode < 1u << format.bits; ++opcode) {
      for (Words words : format.forms) {
        words[0] |= format.word | opcode << format.shift;
        space.push_back(words);
      }
    }
  }
  return space;
}

}  // namespace doorbell::testing
