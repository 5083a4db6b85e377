// Calls of the KFD and DRM ioctls as a line for people and as a JSON object, by the fields of their
// arguments: one printer for the emulator's trace and for `doorbell trace`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/util/types.h"

namespace doorbell::amd::hw {

struct IoctlText {
  std::string text;    // "CREATE_EVENT event_page_offset=0 event_type=8 ... -> 0"
  std::string fields;  // {"ioctl":"CREATE_EVENT", ..., "result":0}
};

namespace detail {
void add_ioctl_field(IoctlText* out, std::string_view name, i64 value, bool is_signed);
IoctlText begin_ioctl(std::string_view name);
void end_ioctl(IoctlText* out, int error);
}  // namespace detail

// Where the client has its arrays, which differs from run to run, or is left out of the text.
enum class ClientPointers : bool { Out, In };

// `error` is the errno of the call, 0 for success.
template <class T>
IoctlText ioctl_text(const T& arguments, int error, ClientPointers pointers = ClientPointers::In) {
  IoctlText out = detail::begin_ioctl(T::kName);
  T::fields(arguments, [&]<class V>(const char* name, const V& value) {
    const std::string_view field(name);
    const bool is_pointer = field.ends_with("_ptr") || field.ends_with("_pointer");
    if (is_pointer && pointers == ClientPointers::Out) return;
    detail::add_ioctl_field(&out, name, static_cast<i64>(value), std::is_signed_v<V>);
  });
  detail::end_ioctl(&out, error);
  return out;
}

// By request number, with the bytes of the argument, which may be of an older or newer size.
// Nothing for an ioctl that is neither in kfd.h nor in drm.h.
std::optional<IoctlText> ioctl_text(u32 request, std::span<const u8> argument, int error);

// Whether a request, by its driver and number, is one of theirs.
bool is_known_ioctl(u32 request);

}  // namespace doorbell::amd::hw
