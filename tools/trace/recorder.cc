// Follows queues: the position of each, and the packets added since the last poll.
#include "tools/trace/recorder.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/ioctl_text.h"
#include "drivers/amd/hw/kfd.h"

namespace doorbell::tools {

using namespace amd::hw;

namespace {

constexpr Bits kArgumentBytes = word(0, 29, 16);
constexpr u64 kAqlWords = kAqlPacketBytes / sizeof(u32);

// Words per unit of a queue's pointers.
u64 to_words(StreamKind kind, u64 pointer) {
  if (kind == StreamKind::Aql) return pointer * kAqlWords;
  return kind == StreamKind::Sdma ? pointer / sizeof(u32) : pointer;
}

std::optional<StreamKind> kind_of(u32 queue_type) {
  switch (queue_type) {
    case kKfdQueueCompute: return StreamKind::Pm4;
    case kKfdQueueComputeAql: return StreamKind::Aql;
    case kKfdQueueSdma:
    case kKfdQueueSdmaXgmi:
    case kKfdQueueSdmaByEngine: return StreamKind::Sdma;
    default: return std::nullopt;
  }
}

template <class T>
std::optional<T> read_value(u64 address) {
  T value{};
  if (!read_own_memory(address, {reinterpret_cast<u8*>(&value), sizeof value})) return std::nullopt;
  return value;
}

std::optional<std::vector<u32>> read_words(u64 address, u32 words) {
  std::vector<u32> result(words);
  if (!read_own_memory(address, {reinterpret_cast<u8*>(result.data()), words * sizeof(u32)}))
    return std::nullopt;
  return result;
}

// Packets with which clients pad rings.
bool is_filler(const StreamPacket& packet) {
  return packet.words == 1 && (packet.name == "NOP" || packet.name == "FILLER");
}

template <class T>
T argument_of(const void* argument) {
  T result;
  std::memcpy(static_cast<void*>(&result), argument, sizeof result);
  return result;
}

}  // namespace

bool read_own_memory(u64 address, std::span<u8> into) {
  iovec here{into.data(), into.size()};
  iovec there{reinterpret_cast<void*>(address), into.size()};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(into.size());
}

bool Recorder::ioctl(int descriptor, u32 request, const void* argument, int error) {
  if (!is_known_ioctl(request)) return false;
  const std::array<u32, 1> words{request};
  const auto bytes = static_cast<usize>(extract(words, kArgumentBytes));
  const std::span<const u8> given(static_cast<const u8*>(argument), argument ? bytes : 0);
  const std::optional<IoctlText> call = ioctl_text(request, given, error);
  std::lock_guard lock(mutex_);
  trace_->write({.kind = "ioctl", .text = call->text, .fields = call->fields});
  if (std::find(descriptors_.begin(), descriptors_.end(), descriptor) == descriptors_.end())
    descriptors_.push_back(descriptor);
  if (error == 0 && bytes >= sizeof(KfdDestroyQueue)) queue_call(request, argument);
  return true;
}

void Recorder::queue_call(u32 request, const void* argument) {
  // Compares the number only: other versions of the header have requests of other sizes.
  const std::array<u32, 1> words{request};
  if (extract(words, word(0, 15, 8)) != static_cast<u8>(KfdCreateQueue::kType)) return;
  const u64 number = extract(words, word(0, 7, 0));
  if (number == KfdCreateQueue::kNumber) return create(argument);
  // Buffers are mapped through the render node, for which there may be no ioctl.
  if (number == KfdAcquireVm::kNumber)
    descriptors_.push_back(static_cast<int>(argument_of<KfdAcquireVm>(argument).drm_fd));
  if (number == KfdUpdateQueue::kNumber) {
    const auto update = argument_of<KfdUpdateQueue>(argument);
    for (Queue& queue : queues_)
      if (queue.id == update.queue_id && update.queue_percentage != 0 && update.ring_size != 0) {
        poll(&queue);
        queue.ring = update.ring_base_address;
        queue.words = update.ring_size / sizeof(u32);
      }
  }
  if (number == KfdDestroyQueue::kNumber) {
    const u32 id = argument_of<KfdDestroyQueue>(argument).queue_id;
    std::erase_if(queues_, [&](Queue& queue) {
      if (queue.id == id) poll(&queue);
      return queue.id == id;
    });
  }
}

void Recorder::create(const void* argument) {
  KfdCreateQueue create;
  std::memcpy(static_cast<void*>(&create), argument, kKfdCreateQueueOldBytes);
  const std::optional<StreamKind> kind = kind_of(create.queue_type);
  if (!kind || create.ring_size < sizeof(u32)) return;
  Queue queue{.id = create.queue_id,
              .gpu_id = create.gpu_id,
              .kind = *kind,
              .ring = create.ring_base_address,
              .write_pointer = create.write_pointer_address,
              .read_pointer = create.read_pointer_address,
              .words = create.ring_size / sizeof(u32)};
  if (const auto found = find_generation_(create.gpu_id)) queue.generation = *found;
  queue.at = to_words(*kind, read_value<u64>(queue.write_pointer).value_or(0));
  queues_.push_back(queue);
}

void Recorder::mapped(int descriptor, u64 address, u64 bytes, u64 offset) {
  std::lock_guard lock(mutex_);
  if (std::find(descriptors_.begin(), descriptors_.end(), descriptor) == descriptors_.end()) return;
  const std::string text = fmt::format("offset={:#x} bytes={:#x} -> {:#x}", offset, bytes, address);
  const std::string fields =
      fmt::format(R"({{"offset":{},"bytes":{},"address":{}}})", offset, bytes, address);
  trace_->write({.kind = "map", .text = text, .fields = fields});
}

bool Recorder::poll() {
  std::lock_guard lock(mutex_);
  for (Queue& queue : queues_) poll(&queue);
  return !queues_.empty();
}

void Recorder::poll(Queue* queue) {
  const std::optional<u64> pointer = read_value<u64>(queue->write_pointer);
  if (!pointer) return;
  u64 end = to_words(queue->kind, *pointer);
  if (end <= queue->at) return;
  if (end - queue->at > queue->words) {
    line(*queue, "lost",
         fmt::format("{} words were overwritten before they were seen",
                     end - queue->at - queue->words));
    queue->at = end - queue->words;
  }
  if (queue->kind == StreamKind::Aql) {
    // A client raises the write pointer first and hands packets over by their headers; one that was
    // read has an invalid header again.
    const u64 read = to_words(queue->kind, read_value<u64>(queue->read_pointer).value_or(0));
    for (u64 at = queue->at; at < end; at += kAqlWords) {
      const std::vector<u32> first = ring_words(*queue, at, 1);
      const bool handed_over =
          !first.empty() && decode<AqlHeader>(std::span(first).first<1>()).type != AqlType::Invalid;
      if (!handed_over && at >= read) end = at;
    }
    if (end == queue->at) return;
  }
  const std::vector<u32> words = ring_words(*queue, queue->at, end - queue->at);
  if (words.empty()) line(*queue, "lost", "the ring cannot be read by the host");
  write_packets(*queue, words);
  queue->at = end;
}

std::vector<u32> Recorder::ring_words(const Queue& queue, u64 at, u64 count) const {
  const u64 first = at % queue.words, before_end = std::min(count, queue.words - first);
  auto words = read_words(queue.ring + first * sizeof(u32), static_cast<u32>(before_end));
  auto rest = read_words(queue.ring, static_cast<u32>(count - before_end));
  if (!words || !rest) return {};
  words->insert(words->end(), rest->begin(), rest->end());
  return *words;
}

void Recorder::write_packets(const Queue& queue, std::span<const u32> words) {
  usize fillers = 0;
  const auto end_fillers = [&] {
    if (fillers > 0) line(queue, "packet", fmt::format("NOP, {} of one word", fillers));
    fillers = 0;
  };
  walk_stream(queue.kind, queue.generation, words, read_words,
              [&](const StreamPacket& packet, int depth) {
                if (is_filler(packet)) {
                  ++fillers;
                  return;
                }
                end_fillers();
                line(queue, "packet", fmt::format("{:{}}{}", "", depth * 2, to_text(packet)),
                     to_json(packet));
              });
  end_fillers();
}

void Recorder::line(const Queue& queue, std::string_view kind, std::string_view text,
                    std::string_view fields) {
  trace_->write(
      {.kind = kind, .queue = static_cast<int>(queue.id), .text = text, .fields = fields});
}

}  // namespace doorbell::tools
