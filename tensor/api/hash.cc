// SHA-3 and SHAKE (FIPS 202) and a tree hash made of them, as tensor operations: a message is a row
// of bytes, all rows of a batch go through the rounds together.
#include <algorithm>
#include <array>

#include "tensor/api/axes.h"

namespace doorbell {

namespace {

struct Variant {
  std::string_view name;
  i64 rate;    // bytes of a block
  u8 suffix;   // the first byte behind the message
  i64 digest;  // bytes
};

constexpr std::array kVariants = {
    Variant{"sha3_224", 144, 0x06, 28},  Variant{"sha3_256", 136, 0x06, 32},
    Variant{"sha3_384", 104, 0x06, 48},  Variant{"sha3_512", 72, 0x06, 64},
    Variant{"shake_128", 168, 0x1f, 16}, Variant{"shake_256", 136, 0x1f, 32},
};

constexpr i64 kLanes = 25, kLaneBytes = 8, kSide = 5;

// FIPS 202, 3.2.5: the constants of the 24 rounds.
constexpr std::array<u64, 24> kRoundConstants = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// FIPS 202, 3.2.2: by how many bits lane x + 5 y turns.
constexpr std::array<u64, kLanes> kTurns = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                                            25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};

// What the rounds read: tensors rather than numbers, so that all rounds are the same kernels.
struct Constants {
  Tensor turns, back_turns;  // (5, 5) u64: to the left, to the right
  Tensor sources;            // (25) i32: the lane that moves to each place
  std::array<Tensor, 24> rounds;

  explicit Constants(const std::string& device) {
    std::vector<u64> left(kTurns.begin(), kTurns.end()), right;
    std::vector<i32> from;
    for (u64 turn : kTurns) right.push_back((64 - turn) % 64);
    for (i32 y = 0; y < kSide; ++y)  // FIPS 202, 3.2.3
      for (i32 x = 0; x < kSide; ++x) from.push_back((x + 3 * y) % 5 + 5 * x);
    turns = Tensor::from_data(left, {kSide, kSide}, {.device = device});
    back_turns = Tensor::from_data(right, {kSide, kSide}, {.device = device});
    sources = Tensor::from_data(from, {kLanes}, {.device = device});
    for (usize i = 0; i < rounds.size(); ++i) {
      std::vector<u64> lanes(kLanes, 0);
      lanes[0] = kRoundConstants[i];
      rounds[i] = Tensor::from_data(lanes, {kSide, kSide}, {.device = device});
    }
  }
};

// The permutation of FIPS 202, 3.3: (n, 25) lanes to the same.
Tensor permuted(Tensor state, const Constants& constants) {
  const Shape flat = state.shape(), square{flat[0], kSide, kSide};
  for (const Tensor& constant : constants.rounds) {
    const Tensor plane = state.reshape(square);  // (n, y, x)
    Tensor parity = plane[{Slice(), 0}];
    for (i64 y = 1; y < kSide; ++y) parity = parity ^ plane[{Slice(), y}];
    const Tensor next = parity.roll(-1, 1);
    const Tensor turned_next = shift_left(next, 1) | shift_right(next, 63);
    const Tensor mixed = plane ^ (parity.roll(1, 1) ^ turned_next).unsqueeze(1);
    const Tensor turned =
        shift_left(mixed, constants.turns) | shift_right(mixed, constants.back_turns);
    const Tensor moved =
        turned.reshape(flat).contiguous()[{Slice(), constants.sources}].contiguous().reshape(
            square);
    const Tensor result = moved ^ (moved.roll(-1, 2).bitwise_not() & moved.roll(-2, 2));
    state = (result ^ constant).reshape(flat).contiguous();
  }
  return state;
}

Tensor shifts(const std::string& device, i64 count) {
  std::vector<u64> bits;
  for (i64 i = 0; i < count; ++i) bits.push_back(static_cast<u64>(i) * 8);
  return Tensor::from_data(bits, {count}, {.device = device});
}

// Elements as bytes, little end first: one axis more.
Tensor bytes_of(const Tensor& x) {
  const i64 width = x.dtype().bytes();
  if (x.dtype().is_bool()) return x.cast(dtypes::u8).unsqueeze(-1);
  if (width == 1) return x.bitcast(dtypes::u8).unsqueeze(-1);
  const DType whole = width == 2 ? dtypes::u16 : width == 4 ? dtypes::u32 : dtypes::u64;
  const Tensor wide = x.bitcast(whole).cast(dtypes::u64).unsqueeze(-1);
  return (shift_right(wide, shifts(x.device(), width)) & 255).cast(dtypes::u8);
}

const Variant& variant_of(std::string_view name) {
  for (const Variant& variant : kVariants)
    if (variant.name == name) return variant;
  throw fail(ErrorKind::Invalid,
             "no hash {}, expected sha3_224, sha3_256, sha3_384, sha3_512, shake_128 or shake_256",
             name);
}

}  // namespace

Tensor Tensor::keccak(std::string_view name) const {
  const Variant& variant = variant_of(name);
  if (ndim() == 0 || dtype() != dtypes::u8) {
    throw fail(ErrorKind::Invalid, "{} of shape {} and dtype {}, expected rows of uint8", name,
               shape().str(), core::long_name_of(dtype().scalar));
  }
  const i64 length = size(-1).value(), blocks = length / variant.rate + 1;
  const i64 whole = blocks * variant.rate;
  Shape result = shape();
  result.back() = variant.digest;
  i64 batch = 1;
  for (i64 axis = 0; axis + 1 < ndim(); ++axis) batch *= size(axis).value();
  if (batch == 0) return zeros(result, {.dtype = dtypes::u8, .device = device()});
  std::vector<u8> end(static_cast<usize>(whole - length), 0);
  end.front() ^= variant.suffix;
  end.back() ^= 0x80;
  Tensor padded =
      from_data(end, {1, whole - length}, {.device = device()}).expand({batch, whole - length});
  if (length != 0) padded = cat({reshape({batch, length}), padded}, 1);
  const Tensor lanes =
      shift_left(padded.reshape({batch, whole / kLaneBytes, kLaneBytes}).cast(dtypes::u64),
                 shifts(device(), kLaneBytes))
          .sum(-1)
          .contiguous();
  const Constants constants(device());
  const i64 block_lanes = variant.rate / kLaneBytes;
  Tensor state = zeros({batch, kLanes}, {.dtype = dtypes::u64, .device = device()}).contiguous();
  for (i64 block = 0; block < blocks; ++block) {
    const Tensor part = lanes[{Slice(), Slice(block * block_lanes, (block + 1) * block_lanes)}];
    state =
        permuted((state ^ part.pad({{0, 0}, {0, kLanes - block_lanes}})).contiguous(), constants);
  }
  return bytes_of(state).flatten(1)[{Slice(), Slice(0, variant.digest)}].reshape(result);
}

// Pieces of 4096 bytes, their digests in rows of 1 MiB, and again until one is left.
Tensor Tensor::hash() const {
  constexpr i64 kPiece = 4096, kChunk = i64{1} << 20, kDigest = 16;
  Tensor data = bytes_of(*this).reshape({-1});
  const auto hashed_chunks = [](const Tensor& x) {  // (n, 1 MiB) to n * 16 bytes
    const i64 count = x.size(0).value();
    return x.reshape({-1, kPiece}).keccak("shake_128").reshape({count, -1}).keccak("shake_128");
  };
  const auto in_chunks = [&](const Tensor& x) {
    const i64 length = x.size(0).value(), chunks = std::max<i64>((length + kChunk - 1) / kChunk, 1);
    return x.pad({{0, chunks * kChunk - length}}).reshape({chunks, kChunk});
  };
  while (data.size(0).value() > kChunk) data = hashed_chunks(in_chunks(data)).reshape({-1});
  return hashed_chunks(in_chunks(data)).reshape({-1})[{Slice(0, kDigest)}];
}

}  // namespace doorbell
