// Names of exchanges.
#include "core/device/communicator.h"

#include <fmt/format.h>

namespace doorbell::core {

std::string describe(const Exchange& exchange) {
  const bool combines =
      exchange.kind == ExchangeKind::Reduce || exchange.kind == ExchangeKind::ReduceScatter;
  constexpr const char* kNames[] = {"own",       "stand_in",   "allreduce", "reduce_scatter",
                                    "allgather", "all_to_all", "broadcast"};
  return fmt::format("{}{}{} of {}", kNames[static_cast<usize>(exchange.kind)],
                     combines ? fmt::format("_{} ", name_of(exchange.op)) : " ",
                     long_name_of(exchange.dtype.scalar), exchange.ranks.size());
}

}  // namespace doorbell::core
