// The rows of fields.def, and reading and writing by them.
#include "drivers/nv/hw/qmd/qmd.h"

namespace doorbell::nv::hw {

namespace {

// A field's position in one version; hi is 0 where it has none, as no field ends at bit 0.
struct Place {
  u16 hi = 0, lo = 0, stride = 0;
  u8 shift = 0;
};

struct Row {
  std::string_view name;
  u32 elements;
  std::array<Place, 3> versions;
};

constexpr Row kRows[] = {
#define NONE \
  Place {}
#define AT(...) \
  Place { __VA_ARGS__ }
#define DOORBELL_QMD(field, name, elements, v3, v4, v5) {name, elements, {v3, v4, v5}},
#include "drivers/nv/hw/qmd/fields.def"
#undef AT
#undef NONE
};

const Row& row_of(QmdField field) { return kRows[static_cast<usize>(field)]; }

struct Taken {
  std::array<u32, kQmdMaxWords> bits{};  // of any field
  bool apart = true;                     // none is of two, or beyond the version's words
};

constexpr Taken take(usize version, u32 words) {
  Taken taken;
  for (const Row& row : kRows) {
    const Place& place = row.versions[version];
    if (place.hi == 0) continue;
    for (u32 i = 0; i < row.elements; ++i) {
      const Bits bits(place.hi + i * place.stride, place.lo + i * place.stride);
      taken.apart = taken.apart && bits.hi < words * 32 && extract(taken.bits, bits) == 0;
      if (taken.apart) deposit(taken.bits, bits, bits.max());
    }
  }
  return taken;
}
constexpr Taken kTaken[] = {take(0, 64), take(1, 96), take(2, 96)};
static_assert(kTaken[0].apart && kTaken[1].apart && kTaken[2].apart);

}  // namespace

std::string_view name_of(QmdVersion version) {
  static constexpr std::string_view kNames[] = {"V03_00", "V04_00", "V05_00"};
  return kNames[static_cast<usize>(version)];
}

std::optional<QmdVersion> qmd_version(ClassId compute) {
  switch (compute) {
    case ClassId::AmpereComputeA:
    case ClassId::AmpereComputeB:
    case ClassId::AdaComputeA: return QmdVersion::V3_0;
    case ClassId::HopperComputeA: return QmdVersion::V4_0;
    case ClassId::BlackwellComputeA:
    case ClassId::BlackwellComputeB: return QmdVersion::V5_0;
    default: return std::nullopt;
  }
}

Qmd::Qmd(QmdVersion version) : version_(version) {
  set(QmdField::QmdMajorVersion, static_cast<u64>(version) + 3);
}

Result<Qmd> Qmd::from_words(QmdVersion version, std::span<const u32> words) {
  if (words.size() != qmd_words(version))
    return fail(ErrorKind::Corrupt, "a QMD {} of {} words, expected {}", name_of(version),
                words.size(), qmd_words(version));
  Qmd qmd(version);
  std::copy(words.begin(), words.end(), qmd.words_.begin());
  return qmd;
}

std::optional<QmdPosition> Qmd::position(QmdVersion version, QmdField field, u32 element) {
  const Row& row = row_of(field);
  CHECK(element < row.elements, "element {} of {}, which has {}", element, row.name, row.elements);
  const Place& place = row.versions[static_cast<usize>(version)];
  if (place.hi == 0) return std::nullopt;
  const unsigned first = element * place.stride;
  return QmdPosition{Bits(place.hi + first, place.lo + first), Shift{place.shift}};
}

u32 Qmd::elements(QmdField field) { return row_of(field).elements; }
std::string_view Qmd::name(QmdField field) { return row_of(field).name; }

Qmd& Qmd::set(QmdField field, u64 value, u32 element) {
  const std::optional<QmdPosition> at = position(version_, field, element);
  CHECK(at, "QMD {} has no field {}", name_of(version_), name(field));
  const u64 raw = value >> at->shift.count;
  CHECK(raw << at->shift.count == value, "{} {:#x} is not a multiple of {}", name(field), value,
        1u << at->shift.count);
  CHECK(raw <= at->bits.max(), "{} {:#x} does not fit its {} bits", name(field), value,
        at->bits.width());
  deposit(words_, at->bits, raw);
  return *this;
}

// The emulator reads every field of every launch: kTaken's assertions hold in place of extract()'s
// checks.
u64 Qmd::get(QmdField field, u32 element) const {
  const Row& row = row_of(field);
  CHECK(element < row.elements, "element {} of {}, which has {}", element, row.name, row.elements);
  const Place& place = row.versions[static_cast<usize>(version_)];
  if (place.hi == 0) return 0;
  const u32 lo = place.lo + element * place.stride, width = place.hi - place.lo + 1u;
  const u32 word = lo / 32, first = lo % 32;
  u64 value = words_[word] >> first;
  if (first + width > 32) value |= u64{words_[word + 1]} << (32 - first);
  if (first + width > 64) value |= u64{words_[word + 2]} << (64 - first);
  return (value & ~u64{0} >> (64 - width)) << place.shift;
}

std::array<u32, kQmdMaxWords> Qmd::stray_bits() const {
  std::array<u32, kQmdMaxWords> stray = words_;
  const auto& taken = kTaken[static_cast<usize>(version_)].bits;
  for (usize i = 0; i < stray.size(); ++i) stray[i] &= ~taken[i];
  return stray;
}

StreamPacket describe_qmd(const Qmd& qmd) {
  StreamPacket packet;
  packet.words = qmd_words(qmd.version());
  packet.name = "QMD";
  packet.opcode = static_cast<u32>(qmd.version()) + 3;
  for (usize i = 0; i < kQmdFields; ++i) {
    const auto field = static_cast<QmdField>(i);
    const u32 elements = Qmd::elements(field);
    for (u32 element = 0; element < elements; ++element) {
      const u64 value = qmd.get(field, element);
      if (value == 0) continue;
      const QmdPosition at = *Qmd::position(qmd.version(), field, element);
      std::string name(Qmd::name(field));
      if (elements > 1) name += fmt::format("({})", element);
      packet.fields.push_back({std::move(name), value, {}, at.bits.width() == 1, at.bits});
    }
  }
  const std::array<u32, kQmdMaxWords> stray = qmd.stray_bits();
  for (u32 i = 0; i < packet.words; ++i)
    if (stray[i] != 0) complain(&packet, fmt::format("word {} has stray bits {:#x}", i, stray[i]));
  return packet;
}

}  // namespace doorbell::nv::hw
