// All methods, and which record a run of them is. Whoever prints or executes methods asks here, so
// that a record is known everywhere once methods.def lists it.
#pragma once

#include <type_traits>

#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/copy/methods.h"
#include "drivers/nv/hw/host/methods.h"

namespace doorbell::nv::hw {

// The kind of class that a method of a subchannel is for.
constexpr ClassKind kind_of_method(ClassId bound, u32 method) {
  return method < kEngineMethods ? ClassKind::Channel : kind_of(bound);
}

// NVIDIA's name of a method, with a record here or without. Empty: unknown.
std::string_view method_name(ClassKind kind, u32 method);

// Calls f(std::type_identity<Record>()) with the record whose run contains the method. False: none.
template <class F>
bool visit_method(ClassKind kind, u32 method, const F& f) {
#define DOORBELL_NV_METHODS(of, Record)                                         \
  if (kind == ClassKind::of && method - Record::kMethod < Record::kWords * 4) { \
    f(std::type_identity<Record>());                                            \
    return true;                                                                \
  }
#include "drivers/nv/hw/methods.def"
  return false;
}

}  // namespace doorbell::nv::hw
