// The numbers of ioctls, as <asm-generic/ioctl.h> builds them: direction, size of the argument, a
// letter for the driver, and the driver's own number.
#pragma once

#include <array>

#include "base/bits/bits.h"

namespace doorbell::amd::hw {

// As the user sees it: Write hands the kernel an argument, Read gets one back.
enum class IoctlDirection : u8 { None, Write, Read, ReadWrite };

// [torvalds/linux include/uapi/asm-generic/ioctl.h _IOC]
constexpr u32 ioctl_request(IoctlDirection direction, char type, u8 number, usize size) {
  std::array<u32, 1> request{};
  deposit(request, word(0, 31, 30), static_cast<u8>(direction));
  deposit(request, word(0, 29, 16), size);
  deposit(request, word(0, 15, 8), static_cast<u8>(type));
  deposit(request, word(0, 7, 0), number);
  return request[0];
}

// The request of an argument structure, which says its direction, driver and number.
template <class T>
inline constexpr u32 kRequest = ioctl_request(T::kDirection, T::kType, T::kNumber, sizeof(T));

}  // namespace doorbell::amd::hw
