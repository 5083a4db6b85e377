// The ring of a PM4 queue (pm4_queue.h).
#include "emulator/amd/cp/pm4_queue.h"

#include <algorithm>

#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

std::optional<MemoryFault> Pm4Queue::read_ring(u64 at, std::span<u32> words) const {
  u64 ring = description_.ring_bytes / 4;
  while (!words.empty()) {
    u64 index = at % ring;
    usize run = static_cast<usize>(std::min<u64>(words.size(), ring - index));
    if (auto fault = gpu_.memory.read(Client::CommandProcessor, description_.ring + index * 4,
                                      std::span(reinterpret_cast<u8*>(words.data()), run * 4)))
      return fault;
    at += run;
    words = words.subspan(run);
  }
  return std::nullopt;
}

void Pm4Queue::report_read(u64 at) {
  const ActingAs nobody(gpu_.memory, nullptr);
  u32 wrapped = static_cast<u32>(at % (description_.ring_bytes / 4));
  if (auto fault = gpu_.memory.store(Client::CommandProcessor, description_.read_pointer, wrapped))
    stop(std::move(*fault));
}

std::optional<Step> Pm4Queue::fetch(std::vector<u32>& packet) {
  u64 left = announced() - read_;
  if (left == 0) return Step::Idle;
  place_ = {"ring word {}", read_ % (description_.ring_bytes / 4)};
  u32 header = 0;
  if (auto fault = read_ring(read_, std::span(&header, 1))) return stop(std::move(*fault));
  u32 words = hw::pm4_words(header);
  if (words == 0) return stop(no_packet(header));
  if (words > left) {
    // Hardware waits for the rest, which a client that counts right never leaves out.
    if (cut_ != read_ + 1 &&
        report_violation(kPacketCut,
                         fmt::format("{:#010x} begins a packet of {} words, {} are announced",
                                     header, words, left)))
      return Step::Stopped;
    cut_ = read_ + 1;
    return Step::Waiting;
  }
  packet.resize(words);
  if (auto fault = read_ring(read_, packet)) return stop(std::move(*fault));
  packet_end_ = read_ + words;
  if (gpu_.adversarial) {
    free_up_to(packet_end_);
    report_read(packet_end_);
  }
  return std::nullopt;
}

bool Pm4Queue::look_at_ring() {
  const u64 ring = description_.ring_bytes / 4, left = announced() - ahead_.at();
  const auto word_at = [&](u64 at, u32& word) {
    return ahead_.peek(description_.ring + at % ring * 4, std::span(&word, 1));
  };
  u32 header = 0;
  if (!word_at(ahead_.at(), header)) return false;
  std::vector<u32> words(hw::pm4_words(header));
  if (words.empty() || words.size() > left) return false;
  for (u32& word : words) {
    if (!word_at(ahead_.at(), word)) return false;
    ahead_.step(1);
  }
  if (ahead_.look_at(words, 0)) return true;
  ahead_.stop_here();
  return false;
}

void Pm4Queue::resize(std::vector<u32>& packet, u32 words) {
  if (const u64 left = announced() - read_; words > left) {
    report_violation(
        kPacketCut, fmt::format("{:#010x} begins a packet of {} words, {} are announced", packet[0],
                                words, left));
    stop("a packet is cut by what the doorbell announced");
    return;
  }
  const usize kept = std::min<usize>(words, packet.size());
  packet.resize(words);
  packet_end_ = read_ + words;
  if (auto fault = read_ring(read_ + kept, std::span(packet).subspan(kept)))
    stop(std::move(*fault));
}

void Pm4Queue::packet_done() {
  read_up_to(packet_end_);
  report_read(read_);
}

}  // namespace doorbell::emu::amdgpu
