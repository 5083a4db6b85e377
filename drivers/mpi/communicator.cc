// Exchanges as operations of MPI.
#include "drivers/mpi/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/util/log.h"
#include "base/util/try.h"

namespace doorbell::mpi {
namespace {

using core::Exchange;
using core::ExchangeKind;

std::optional<Element> element_of(core::DType dtype) {
  switch (dtype.scalar) {
    case core::Scalar::I8: return Element::I8;
    case core::Scalar::Bool:
    case core::Scalar::U8: return Element::U8;
    case core::Scalar::I16: return Element::I16;
    case core::Scalar::U16: return Element::U16;
    case core::Scalar::I32: return Element::I32;
    case core::Scalar::U32: return Element::U32;
    case core::Scalar::I64: return Element::I64;
    case core::Scalar::U64: return Element::U64;
    case core::Scalar::F32: return Element::F32;
    case core::Scalar::F64: return Element::F64;
    default: return std::nullopt;
  }
}

std::optional<Combine> combine_of(core::Op op, core::DType dtype) {
  switch (op) {
    // Of bools, whether any is.
    case core::Op::Add: return dtype.is_bool() ? Combine::Or : Combine::Add;
    case core::Op::Mul: return dtype.is_bool() ? Combine::And : Combine::Mul;
    case core::Op::Max: return Combine::Max;
    case core::Op::And: return Combine::And;
    case core::Op::Or: return Combine::Or;
    case core::Op::Xor: return Combine::Xor;
    default: return std::nullopt;
  }
}

// The bytes of a buffer where the host sees them.
class HostBytes {
 public:
  static Result<HostBytes> of(core::BufferView view, i64 bytes, bool reads) {
    HostBytes made(view, bytes);
    if (made.is_copy() && reads) TRY(view.buffer->copy_out(made.copy_.data(), bytes, view.offset));
    return made;
  }
  u8* data() {
    return is_copy() ? copy_.data() : static_cast<u8*>(view_.buffer->host()) + view_.offset;
  }
  Result<void> write_back() {
    if (!is_copy()) return {};
    return view_.buffer->copy_in(copy_.data(), static_cast<i64>(copy_.size()), view_.offset);
  }

 private:
  HostBytes(core::BufferView view, i64 bytes) : view_(view) {
    if (is_copy()) copy_.resize(static_cast<usize>(bytes));
  }
  bool is_copy() const { return view_.buffer->host() == nullptr; }

  core::BufferView view_;
  std::vector<u8> copy_;
};

// What an operation that failed may still read and write. Nothing ends one that others do not.
struct Unfinished {
  core::Ref<core::Buffer> to, from;
  HostBytes from_bytes, to_bytes;
};

void keep_for_good(Unfinished memory) {
  static std::vector<Unfinished>& kept = *new std::vector<Unfinished>;  // of the queue's thread
  kept.push_back(std::move(memory));
}

class MpiProgram final : public core::Program {
 public:
  MpiProgram(Link& link, Exchange exchange, Element element, Combine combine)
      : link_(link),
        exchange_(std::move(exchange)),
        element_(element),
        combine_(combine),
        what_(core::describe(exchange_)) {}

  Result<void> launch(std::span<const core::BufferView> buffers, std::span<const i64>) override {
    TRY(link_.check());
    if (exchange_.parts.size() > 1) return launch_parts(buffers);
    TRY(HostBytes from, HostBytes::of(buffers[1], exchange_.bytes, true));
    TRY(HostBytes to, HostBytes::of(buffers[0], core::result_bytes(exchange_), false));
    TRY(const Group group, link_.group(exchange_.ranks));
    const Link::Start start = [&](const MpiApi& api, Pending* pending) {
      return begin(api, group, from.data(), to.data(), pending);
    };
    if (Result<void> done =
            link_.run(start, what_, exchange_.ranks, Link::Kind::Other, exchange_.bytes);
        !done) {
      keep_for_good({core::Ref<core::Buffer>(buffers[0].buffer),
                     core::Ref<core::Buffer>(buffers[1].buffer), std::move(from), std::move(to)});
      return done;
    }
    return to.write_back();
  }

 private:
  // Several values are one, in memory of their own.
  Result<void> launch_parts(std::span<const core::BufferView> buffers) {
    const usize count = exchange_.parts.size();
    std::vector<u8>& joined = scratch();
    if (joined.size() < static_cast<usize>(exchange_.bytes))
      joined.resize(static_cast<usize>(exchange_.bytes));
    i64 at = 0;
    for (usize i = 0; i < count; at += exchange_.parts[i++]) {
      TRY(HostBytes from, HostBytes::of(buffers[count + i], exchange_.parts[i], true));
      std::memcpy(joined.data() + at, from.data(), static_cast<usize>(exchange_.parts[i]));
    }
    TRY(const Group group, link_.group(exchange_.ranks));
    const Link::Start start = [&](const MpiApi& api, Pending* pending) {
      return begin(api, group, joined.data(), joined.data(), pending);
    };
    TRY(link_.run(start, what_, exchange_.ranks, Link::Kind::Other, exchange_.bytes));
    at = 0;
    for (usize i = 0; i < count; at += exchange_.parts[i++]) {
      TRY(HostBytes to, HostBytes::of(buffers[i], exchange_.parts[i], false));
      std::memcpy(to.data(), joined.data() + at, static_cast<usize>(exchange_.parts[i]));
      TRY(to.write_back());
    }
    return {};
  }
  // The queue runs one exchange at a time. Kept, because new pages cost as much as copying.
  static std::vector<u8>& scratch() {
    static std::vector<u8>& bytes = *new std::vector<u8>;
    return bytes;
  }
  i64 members() const { return static_cast<i64>(exchange_.ranks.size()); }
  int begin(const MpiApi& api, Group group, const void* from, void* to, Pending* pending) const {
    const i64 count = exchange_.bytes / exchange_.dtype.bytes();
    switch (exchange_.kind) {
      case ExchangeKind::Reduce:
        return api.reduce(group, from, to, count, element_, combine_, pending);
      case ExchangeKind::ReduceScatter:
        return api.reduce_scatter(group, from, to, count / members(), element_, combine_, pending);
      case ExchangeKind::Gather: return api.gather(group, from, to, exchange_.bytes, pending);
      case ExchangeKind::Broadcast:
        if (exchange_.ranks[static_cast<usize>(exchange_.root)] == link_.job().rank)
          std::memcpy(to, from, static_cast<usize>(exchange_.bytes));
        return api.broadcast(group, to, exchange_.bytes, exchange_.root, pending);
      default: return api.all_to_all(group, from, to, exchange_.bytes / members(), pending);
    }
  }

  Link& link_;
  const Exchange exchange_;
  const Element element_;
  const Combine combine_;
  const std::string what_;
};

// Both sides cut long messages at the same places (core::copy_bytes does, for memory that the host
// does not see).
constexpr i64 kPiece = i64{16} << 20;
constexpr int kData = 0;

}  // namespace

std::string MpiDevice::description() const {
  return fmt::format("{}, rank {} of {}", link_.name(), link_.job().rank, link_.job().size);
}

std::string RemoteDevice::description() const { return fmt::format("of rank {}", rank_); }

Result<void> RemoteMemory::copy_in(const core::Allocation&, i64, const void* from, i64 bytes) {
  for (i64 done = 0; done < bytes; done += kPiece) {
    const Link::Start start = [&](const MpiApi& api, Pending* pending) {
      return api.send(kWorld, static_cast<const u8*>(from) + done, std::min(kPiece, bytes - done),
                      rank_, kData, pending);
    };
    TRY(link_.run(start, fmt::format("a message to rank {}", rank_), {rank_}));
  }
  return {};
}

Result<void> RemoteMemory::copy_out(void* to, const core::Allocation&, i64, i64 bytes) {
  for (i64 done = 0; done < bytes; done += kPiece) {
    const Link::Start start = [&](const MpiApi& api, Pending* pending) {
      return api.receive(kWorld, static_cast<u8*>(to) + done, std::min(kPiece, bytes - done), rank_,
                         kData, pending);
    };
    TRY(link_.run(start, fmt::format("a message from rank {}", rank_), {rank_},
                  Link::Kind::Receive));
  }
  return {};
}

// At the end of the process, where nobody is left to catch an error.
void MpiCommunicator::leave() {
  if (const Result<void> left = link_.leave(); !left) log().error("{}", left.error().message);
}

MpiCommunicator::MpiCommunicator(Link& link)
    : link_(link), device_(core::DeviceSpec{.name = "MPI"}, link) {}

Result<std::unique_ptr<core::Program>> MpiCommunicator::load(const Exchange& exchange) {
  const std::optional<Element> element = element_of(exchange.dtype);
  const std::optional<Combine> combine = combine_of(exchange.op, exchange.dtype);
  if (core::combines(exchange) && (!element || !combine))
    return fail(ErrorKind::Unsupported, "{}: MPI does not combine these", core::describe(exchange));
  return std::make_unique<MpiProgram>(link_, exchange, element.value_or(Element::U8),
                                      combine.value_or(Combine::Add));
}

Result<std::unique_ptr<core::Device>> MpiCommunicator::open_remote(core::DeviceSpec spec,
                                                                   int rank) {
  return std::make_unique<RemoteDevice>(std::move(spec), device_, link_, rank);
}

}  // namespace doorbell::mpi
