// NVIDIA's names of methods.
#include "drivers/nv/hw/methods.h"

namespace doorbell::nv::hw {

namespace {

struct Name {
  ClassKind kind;
  u32 method;
  std::string_view name;
};

constexpr Name kNames[] = {
#define DOORBELL_NV_METHOD_NAME(kind, offset, name) {ClassKind::kind, offset, name},
#include "drivers/nv/hw/methods.def"
};

}  // namespace

std::string_view method_name(ClassKind kind, u32 method) {
  std::string_view name;
  visit_method(kind, method, [&]<class Record>(std::type_identity<Record>) {
    name = Record::kNames[(method - Record::kMethod) / 4];
  });
  if (!name.empty()) return name;
  for (const Name& one : kNames)
    if (one.kind == kind && one.method == method) return one.name;
  return {};
}

}  // namespace doorbell::nv::hw
