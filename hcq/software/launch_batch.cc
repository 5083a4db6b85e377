// Cutting commands, and reading launches.
#include "hcq/software/launch_batch.h"

#include "hcq/software/buffer_addresses.h"

namespace doorbell::hcq {

void LaunchReplay::cut(const u64* begin, const u64* end) {
  const auto is_launch = [](const u64* at) {
    return Command{at}.header().kind == CommandKind::Exec;
  };
  while (begin != end) {
    const bool launches = is_launch(begin);
    Part& part = parts.emplace_back(begin, begin);
    for (; part.end != end && is_launch(part.end) == launches; part.end = Command{part.end}.next())
      part.launches += launches ? 1 : 0;
    begin = part.end;
  }
}

void LaunchReplay::Part::read() {
  list.clear(), views.clear(), values.clear();
  // So that spans stay valid.
  const usize most = static_cast<usize>(end - begin);
  list.reserve(launches), views.reserve(most), values.reserve(most);
  for (Command command{begin}; command.cells != end; command = {command.next()}) {
    const u64* operand = command.cells + kExecCells;
    const u64* const variables = operand + command.header().buffers;
    const usize first = views.size(), first_value = values.size();
    for (; operand != variables; ++operand) views.push_back(view_at(*operand));
    for (; operand != command.next(); ++operand) values.push_back(static_cast<i64>(*operand));
    list.push_back({command.pointer<core::Program>(0), std::span(views).subspan(first),
                    std::span(values).subspan(first_value)});
  }
}

}  // namespace doorbell::hcq
