// Which bytes of a file a tensor shows, and the tensor that they make elsewhere.
#include "tensor/api/disk.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/os/host.h"
#include "base/util/check.h"
#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk_access.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell::detail {

using core::Op;
using core::UOp;
using core::UOpRef;

namespace {

constexpr std::string_view kDisk = "DISK";

// The Registry's number plus one; 0 before the first tensor on a file.
constinit std::atomic<u16> disk_number{0};

// What a tensor shows: a part of a file, and the steps above it, from the first on, that no
// distances between elements tell.
struct Shown {
  FilePart part;
  std::vector<UOp> rest;  // of the tensor's nodes
};

bool keeps_elements(Op op) {
  return op == Op::Reshape || op == Op::Permute || op == Op::Expand || op == Op::Shrink ||
         op == Op::Pad || op == Op::Flip || op == Op::Detach || op == Op::Bitcast;
}

// False where the elements lie at no regular distances.
bool move(FilePart* part, UOp node) {
  Numbers to;
  if (!numbers_of(node, &to)) return false;
  const Numbers from = part->sizes, strides = part->strides;
  if (!take_step(node.op(), node.args(), from, to, &part->strides)) {
    part->strides = strides;
    return false;
  }
  part->sizes = to;
  for (usize i = 0; i < from.size(); ++i) {
    if (node.is(Op::Shrink)) part->offset += node.args()[2 * i] * strides[i];
    if (node.is(Op::Flip) && (node.args()[0] >> i & 1) != 0 && from[i] > 0)
      part->offset += (from[i] - 1) * strides[i];
  }
  return true;
}

Shown shown_by(const Tensor& x) {
  std::vector<UOp> chain;
  UOp node = *x.uop();
  for (; !node.is(Op::Buffer); node = node.src(0)) {
    CHECK(keeps_elements(node.op()), "{} of a file", core::name_of(node.op()));
    chain.push_back(node);
  }
  Shown shown;
  FilePart& part = shown.part;
  part.buffer = &engine::buffer_of(node);
  part.width = node.dtype().bytes();
  CHECK(numbers_of(node, &part.sizes), "a file of symbolic size");
  part.strides.assign(part.sizes.size(), 1);
  for (usize i = part.sizes.size(); i-- > 1;) part.strides[i - 1] = part.strides[i] * part.sizes[i];
  while (!chain.empty() && move(&part, chain.back())) chain.pop_back();
  shown.rest.assign(chain.rbegin(), chain.rend());
  return shown;
}

// Repeated elements are read once.
FilePart without_repeats(FilePart part) {
  for (usize i = 0; i < part.sizes.size(); ++i)
    if (part.strides[i] == 0 && part.sizes[i] > 1) part.sizes[i] = 1;
  return part;
}

Shape shape_of(const Numbers& sizes) { return Shape(std::vector<i64>(sizes.begin(), sizes.end())); }

}  // namespace

std::optional<std::string> disk_path(std::string_view device) {
  const std::string_view prefix = device.substr(0, kDisk.size());
  const bool is_disk = std::ranges::equal(
      prefix, kDisk, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
  if (!is_disk || device.size() == kDisk.size() || device[kDisk.size()] != ':') return {};
  return std::string(device.substr(kDisk.size() + 1));
}

void note_disk(const core::Device& device) {
  if (device.name() == kDisk)
    disk_number.store(static_cast<u16>(device.index() + 1), std::memory_order_relaxed);
}

bool on_disk(u16 at) { return at != 0 && at == disk_number.load(std::memory_order_relaxed); }

void check_on_disk(Op op, u16 at) {
  if (on_disk(at) && !keeps_elements(op)) [[unlikely]]
    refuse_on_disk(core::name_of(op));
}

void refuse_on_disk(std::string_view what) {
  throw fail(ErrorKind::Unsupported,
             "{} of a tensor on DISK, where nothing is computed; copy it to a device with to()",
             what);
}

Tensor disk_tensor(std::shared_ptr<core::StoredFile> file, DType dtype,
                   const std::optional<Shape>& shape, i64 offset) {
  core::Device& device = engine::device(kDisk);
  note_disk(device);
  std::vector<i64> sizes;
  if (shape) {
    sizes = shape->values();
    for (i64 size : sizes)
      if (size < 0) throw fail(ErrorKind::Invalid, "shape {} has a negative size", shape->str());
  } else {
    const i64 size = static_cast<i64>(engine::must(file->file->size())) - std::max<i64>(offset, 0);
    if (size < 0)
      throw fail(ErrorKind::Invalid, "file {} has {} bytes, none at byte {}", file->path,
                 size + offset, offset);
    if (size % dtype.bytes() != 0)
      throw fail(ErrorKind::Invalid, "{} has {} bytes, not a multiple of the {} of {}", file->path,
                 size, dtype.bytes(), core::long_name_of(dtype.scalar));
    sizes.push_back(size / dtype.bytes());
  }
  const i64 bytes = bytes_of(Shape(sizes).numel().value(), dtype);
  core::Ref<core::Buffer> part =
      engine::must(core::part_of_file(device, std::move(file), offset, bytes));
  return Tensor::from_uop(engine::make_buffer_node(std::move(part), dtype, sizes));
}

Tensor make_disk_tensor(const std::string& path, DType dtype, const Shape& shape) {
  const i64 bytes = bytes_of(shape.numel().value(), dtype);
  if (path.empty())
    throw fail(ErrorKind::Invalid, "DISK without a file: name one, as in \"DISK:/path\"");
  return disk_tensor(
      engine::must(core::open_stored(os::host_files(), path, core::FileUse::Make, bytes)), dtype,
      shape, 0);
}

Tensor read_disk(const Tensor& x, u16 at) {
  if (x.needs_grad()) {
    throw fail(ErrorKind::Unsupported,
               "a tensor on DISK that requires grad; copy it first, and mark the copy");
  }
  if (core::is_placement(at)) {
    // Where the first is another process's, each reads the file by itself.
    const core::Placement to = core::placement_of(at);
    const i64 own = std::max<i64>(core::own_part(to.devices), 0);
    return moved_to(read_disk(x, static_cast<u16>(to.devices[static_cast<usize>(own)] + 1)), at);
  }
  const UOpRef alive = x.uop();
  const Shown shown = shown_by(x);
  const FilePart part = without_repeats(shown.part);
  const DType dtype = shown.rest.empty() ? x.dtype() : shown.rest[0].src(0).dtype();
  UOpRef memory = make_storage(at, dtype, {part.sizes.begin(), part.sizes.end()}, {});
  core::Buffer& to = engine::buffer_of(*memory);
  read_part(part, [&to](const u8* bytes, i64 size, i64 offset) {
    return to.copy_in(bytes, size, offset);
  });
  NoGradScope no_grad;
  Tensor read = Tensor::from_uop(std::move(memory));
  if (part.sizes != shown.part.sizes) read = read.expand(shape_of(shown.part.sizes));
  for (const UOp step : shown.rest)
    read =
        make(step.op(), step.dtype(), std::array{static_cast<const Tensor*>(&read)}, step.args());
  return read;
}

Tensor off_disk(const Tensor& x) {
  return on_disk(x) ? read_disk(x, device_number_named("CPU")) : x;
}

void read_disk(const Tensor& x, std::span<std::byte> bytes) {
  const UOpRef alive = x.uop();
  const Shown shown = shown_by(x);
  if (!shown.rest.empty()) return off_disk(x).copy_to(bytes);
  read_part(shown.part, [bytes](const u8* piece, i64 size, i64 offset) -> Result<void> {
    std::memcpy(bytes.data() + offset, piece, static_cast<usize>(size));
    return {};
  });
}

void write_disk(const Tensor& place, const Tensor& x) {
  const UOpRef alive = place.uop();
  const Shown shown = shown_by(place);
  const Numbers& strides = shown.part.strides;
  for (usize i = 0; i < strides.size(); ++i) {
    if (strides[i] != 0 || shown.part.sizes[i] < 2) continue;
    throw fail(ErrorKind::Invalid,
               "cannot assign to an expanded tensor of shape {}: it shows elements several times",
               place.shape().str());
  }
  if (!shown.rest.empty())
    throw fail(ErrorKind::Unsupported,
               "cannot assign to a tensor on DISK of shape {}, whose elements lie at no regular "
               "distances in the file",
               place.shape().str());
  NoGradScope no_grad;
  const Tensor value = off_disk(x).detach();
  write_part(shown.part, value.cast(place.dtype()).expand(place.shape()).to_bytes());
}

Tensor bitcast_disk(const Tensor& x, DType to, const Shape& shape) {
  const UOpRef alive = x.uop();
  const Shown shown = shown_by(x);
  if (!shown.rest.empty() || !shown.part.is_run())
    throw fail(ErrorKind::Unsupported,
               "cannot bitcast {} of shape {} on DISK to {}: its elements lie apart in the file",
               core::long_name_of(x.dtype().scalar), x.shape().str(),
               core::long_name_of(to.scalar));
  const core::Allocation& memory = shown.part.buffer->memory();
  return disk_tensor(core::stored_file(memory).shared_from_this(), to, shape,
                     static_cast<i64>(memory.address) + shown.part.offset * shown.part.width);
}

}  // namespace doorbell::detail
