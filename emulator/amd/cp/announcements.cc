// Promises by queue (announcements.h).
#include "emulator/amd/cp/announcements.h"

#include <algorithm>
#include <utility>

namespace doorbell::emu::amdgpu {

void Announcements::add(QueueId queue, Promise promise) {
  const u8* end = promise.host + promise.bytes.size();
  first_ = first_ == nullptr ? promise.host : std::min(first_, promise.host);
  last_ = std::max(last_, end);
  queues_[queue].promises.push_back(std::move(promise));
}

std::optional<std::vector<u8>> Announcements::take(QueueId queue, Kind kind, u64 va) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) return std::nullopt;
  std::vector<Promise>& promises = found->second.promises;
  auto promise = std::ranges::find_if(
      promises, [&](const Promise& one) { return one.kind == kind && one.va == va; });
  if (promise == promises.end()) return std::nullopt;
  std::vector<u8> bytes = std::move(promise->bytes);
  promises.erase(promise);
  return bytes;
}

void Announcements::executed(QueueId queue, u64 read) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  std::erase_if(found->second.promises, [&](const Promise& one) { return one.end <= read; });
  if (found->second.promises.empty() && !found->second.unknown) queues_.erase(found);
  if (queues_.empty()) first_ = last_ = nullptr;
}

void Announcements::written(const u8* host, u64 bytes) {
  if (host >= last_ || host + bytes <= first_) return;
  for (auto& [id, queue] : queues_) {
    auto touched = [&](const Promise& one) {
      return host < one.host + one.bytes.size() && one.host < host + bytes;
    };
    const bool buffer = std::ranges::any_of(queue.promises, [&](const Promise& one) {
      return one.kind == Kind::Buffer && touched(one);
    });
    if (buffer) queue = {.promises = {}, .unknown = true};
    std::erase_if(queue.promises, touched);
  }
}

bool Announcements::take_unknown(QueueId queue) {
  auto found = queues_.find(queue);
  return found != queues_.end() && std::exchange(found->second.unknown, false);
}

}  // namespace doorbell::emu::amdgpu
