// Printing calls, and finding an argument's structure by its request.
#include "drivers/amd/hw/ioctl_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/kfd.h"

namespace doorbell::amd::hw {

namespace detail {

IoctlText begin_ioctl(std::string_view name) {
  return {std::string(name), fmt::format(R"({{"ioctl":"{}")", name)};
}

void add_ioctl_field(IoctlText* out, std::string_view name, i64 value, bool is_signed) {
  if (is_signed) {
    fmt::format_to(std::back_inserter(out->text), " {}={}", name, value);
    fmt::format_to(std::back_inserter(out->fields), R"(,"{}":{})", name, value);
    return;
  }
  const auto number = static_cast<u64>(value);
  if (number < 10)
    fmt::format_to(std::back_inserter(out->text), " {}={}", name, number);
  else
    fmt::format_to(std::back_inserter(out->text), " {}={:#x}", name, number);
  fmt::format_to(std::back_inserter(out->fields), R"(,"{}":{})", name, number);
}

void end_ioctl(IoctlText* out, int error) {
  out->text += error == 0
                   ? std::string(" -> 0")
                   : fmt::format(" -> -{} ({})", error, std::generic_category().message(error));
  fmt::format_to(std::back_inserter(out->fields), R"(,"result":{}}})", -error);
}

}  // namespace detail

namespace {

constexpr Bits kType = word(0, 15, 8), kNumber = word(0, 7, 0);

// Calls f with a default of the structure that belongs to the request.
template <class F>
void with_argument(u32 request, F f) {
  const std::array<u32, 1> words{request};
  const u64 type = extract(words, kType), number = extract(words, kNumber);
  const auto one = [&]<class T>(const T& example) {
    if (T::kNumber == number && static_cast<u8>(T::kType) == type) f(example);
  };
  for_each_kfd_ioctl(one);
  for_each_drm_ioctl(one);
}

}  // namespace

std::optional<IoctlText> ioctl_text(u32 request, std::span<const u8> argument, int error) {
  std::optional<IoctlText> result;
  with_argument(request, [&]<class T>(const T&) {
    T arguments{};
    std::ranges::copy(argument.first(std::min(argument.size(), sizeof arguments)),
                      reinterpret_cast<u8*>(&arguments));
    result = ioctl_text(arguments, error);
  });
  return result;
}

bool is_known_ioctl(u32 request) {
  bool known = false;
  with_argument(request, [&](const auto&) { known = true; });
  return known;
}

}  // namespace doorbell::amd::hw
