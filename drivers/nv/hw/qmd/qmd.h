// QMDs (queue meta data): the descriptor of a grid that SEND_PCAS_A names and the compute work
// distributor reads. Three versions of one layout; fields.def says which has which field where.
// What the fields do: docs/hw/nv.md.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/bits/packet.h"
#include "drivers/nv/hw/class_id.h"

namespace doorbell::nv::hw {

enum class QmdVersion : u8 { V3_0, V4_0, V5_0 };
std::string_view name_of(QmdVersion version);

// The version that kernels are launched with on a compute class; none for classes before Ampere and
// for classes of other kinds. The classes take older versions too. [open-gpu-doc: the versions that
// each cl*qmd.h defines; Mesa src/nouveau/compiler/nak/qmd.rs chooses the same]
std::optional<QmdVersion> qmd_version(ClassId compute);

enum class QmdField : u8 {
#define DOORBELL_QMD(field, name, elements, v3, v4, v5) field,
#include "drivers/nv/hw/qmd/fields.def"
};
inline constexpr usize kQmdFields = 0
#define DOORBELL_QMD(field, name, elements, v3, v4, v5) +1
#include "drivers/nv/hw/qmd/fields.def"
    ;

inline constexpr u32 kQmdMaxWords = 96;
inline constexpr u32 kQmdAlignment = 256;  // bytes
constexpr u32 qmd_words(QmdVersion version) { return version == QmdVersion::V3_0 ? 64 : 96; }

// The bits of one element, and how many of the value's lowest bits they leave out.
struct QmdPosition {
  Bits bits;
  Shift shift;
};

class Qmd {
 public:
  // All zero but the version.
  explicit Qmd(QmdVersion version);
  // Fails for a number of words other than the version's.
  static Result<Qmd> from_words(QmdVersion version, std::span<const u32> words);

  QmdVersion version() const { return version_; }
  std::span<const u32> words() const {
    return std::span<const u32>(words_).first(qmd_words(version_));
  }

  // Where a version has the field; nothing where it does not.
  static std::optional<QmdPosition> position(QmdVersion version, QmdField field, u32 element = 0);
  static u32 elements(QmdField field);
  static std::string_view name(QmdField field);

  // The version must have the field, and the value fit it.
  Qmd& set(QmdField field, u64 value, u32 element = 0);
  // 0 for a field that the version does not have.
  u64 get(QmdField field, u32 element = 0) const;

  // Bits that are set although no field claims them.
  std::array<u32, kQmdMaxWords> stray_bits() const;

 private:
  QmdVersion version_;
  std::array<u32, kQmdMaxWords> words_{};
};

// The fields that are not 0, in the order of fields.def; stray bits are its problem.
StreamPacket describe_qmd(const Qmd& qmd);

}  // namespace doorbell::nv::hw
