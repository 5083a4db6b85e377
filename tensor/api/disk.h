// Inside the tensor API: tensors on files, whose nodes are Buffers on the device DISK and movement
// ops above them. Nothing is computed there: a tensor is read where it is copied to a device, and a
// file is written where a tensor is assigned to, both at the call. docs/decisions/0036-disk.md says
// why.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/os/files.h"
#include "core/device/device.h"
#include "core/device/stored_file.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The path of "DISK:/path", the name in any case; nothing for other devices.
std::optional<std::string> disk_path(std::string_view device);
// Of a node's device: whether it is DISK.
bool on_disk(u16 at);
inline bool on_disk(const Tensor& x) { return on_disk(x.uop()->device()); }

// Told of each device that is named, of which DISK may be one.
void note_disk(const core::Device& device);

// Elements of an open file from byte `offset` on, which may be any; without a shape all that
// follow. Throws Error where the file has fewer.
Tensor disk_tensor(std::shared_ptr<core::StoredFile> file, DType dtype,
                   const std::optional<Shape>& shape, i64 offset);
// Of the file `path`, which is made where it is missing.
Tensor make_disk_tensor(const std::string& path, DType dtype, const Shape& shape);

// A tensor on a file as one on a device, or on several. Reads what it shows, and no more where its
// elements lie at regular distances.
Tensor read_disk(const Tensor& x, u16 at);
void read_disk(const Tensor& x, std::span<std::byte> bytes);
// A copy on the CPU of what is on DISK, to compute what a reader wants; others as they are.
Tensor off_disk(const Tensor& x);
// What a tensor on a file shows becomes x, of a shape that broadcasts to its shape, on any device.
void write_disk(const Tensor& place, const Tensor& x);
// The same bytes as elements of another size.
Tensor bitcast_disk(const Tensor& x, DType to, const Shape& shape);

// Throws where a node of this op cannot be made of sources on DISK. Pad can, because slices with
// steps cut off again what it adds.
void check_on_disk(core::Op op, u16 at);
[[noreturn]] void refuse_on_disk(std::string_view what);

}  // namespace doorbell::detail
