// Names and sizes of exchanges.
#include "core/device/communicator.h"

#include <fmt/format.h>

namespace doorbell::core {

bool combines(const Exchange& exchange) {
  return exchange.kind == ExchangeKind::Reduce || exchange.kind == ExchangeKind::ReduceScatter;
}

i64 result_bytes(const Exchange& exchange) {
  const i64 members = static_cast<i64>(exchange.ranks.size());
  switch (exchange.kind) {
    case ExchangeKind::ReduceScatter: return exchange.bytes / members;
    case ExchangeKind::Gather: return exchange.bytes * members;
    default: return exchange.bytes;
  }
}

std::string describe(const Exchange& exchange) {
  constexpr const char* kNames[] = {"own",       "stand_in",   "allreduce", "reduce_scatter",
                                    "allgather", "all_to_all", "broadcast"};
  const std::string text =
      fmt::format("{}{}{} of {}", kNames[static_cast<usize>(exchange.kind)],
                  combines(exchange) ? fmt::format("_{} ", name_of(exchange.op)) : " ",
                  long_name_of(exchange.dtype.scalar), exchange.ranks.size());
  return exchange.parts.size() < 2 ? text
                                   : fmt::format("{}, {} values", text, exchange.parts.size());
}

}  // namespace doorbell::core
