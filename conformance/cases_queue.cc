// What every device with hardware queues must do. Needs no compiler: copies, writes and timestamps
// only.
#include <fmt/format.h>

#include <array>

#include "conformance/suite.h"
#include "hcq/graph/graph.h"

namespace doorbell::conformance {
namespace {

using core::Buffer;
using core::Ref;
using hcq::Fence;
using hcq::GpuAddr;
using hcq::Graph;
using hcq::Queue;
using Contents = std::array<u64, 8>;

constexpr Contents kCounting = {1, 2, 3, 4, 5, 6, 7, 8}, kZero = {};

// Errors end the case, as they do where tensors are used.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

Ref<Buffer> make(hcq::Device& on, const Contents& contents) {
  Ref<Buffer> buffer = must(Buffer::allocate(on, sizeof contents));
  must(buffer->copy_in(contents.data(), sizeof contents));
  return buffer;
}
Contents read(const Buffer& buffer) {
  Contents contents{};
  must(buffer.copy_out(contents.data(), sizeof contents));
  return contents;
}
GpuAddr address(hcq::Device& on, const Buffer& buffer) { return must(on.address_of(buffer)); }

void expect(Trial& trial, const Contents& got, const Contents& want) {
  trial.require(got == want,
                fmt::format("got {}, expected {}", fmt::join(got, " "), fmt::join(want, " ")));
}

void in_order(Trial& trial) {
  hcq::Device& device = *trial.target().queues;
  const Ref<Buffer> from = make(device, kCounting), to = make(device, kZero);
  Queue& queue = device.compute_queue();
  auto commands = queue.make_commands();
  commands->copy(address(device, *to), address(device, *from), sizeof(Contents));
  commands->memory_barrier();
  commands->write(address(device, *to) + 8, u64{0x1234567890abcdef});
  commands->memory_barrier();
  commands->copy(address(device, *to) + 16, address(device, *to) + 8, 8);
  must(queue.wait(must(queue.submit(*commands)).position));
  expect(trial, read(*to), {1, 0x1234567890abcdef, 0x1234567890abcdef, 4, 5, 6, 7, 8});
}

// Copies a value back and forth between two buffers, each step on the other queue.
void fences(Trial& trial) {
  hcq::Device& device = *trial.target().queues;
  const Ref<Buffer> a = make(device, kZero), b = make(device, kZero);
  Queue* queues[] = {&device.compute_queue(), &device.copy_queue()};
  Fence last;
  for (u64 i = 0; i < 200; ++i) {
    Queue& queue = *queues[i % 2];
    const GpuAddr from = address(device, i % 2 == 0 ? *a : *b);
    const GpuAddr to = address(device, i % 2 == 0 ? *b : *a);
    auto commands = queue.make_commands();
    commands->write(from + 8 * (i % 8), i);
    commands->memory_barrier();
    commands->copy(to, from, sizeof(Contents));
    last = Fence(must(queue.submit(*commands, last)));
  }
  must(last.wait());
  expect(trial, read(*a), {192, 193, 194, 195, 196, 197, 198, 199});
}

void timestamps(Trial& trial) {
  Queue& queue = trial.target().queues->compute_queue();
  const u64 bytes = queue.timestamp_bytes();
  const core::Allocation stamps = must(queue.memory().allocate(static_cast<i64>(2 * bytes)));
  auto commands = queue.make_commands();
  commands->timestamp(GpuAddr{stamps.address});
  commands->timestamp(GpuAddr{stamps.address + bytes});
  must(queue.wait(must(queue.submit(*commands)).position));
  const auto* ticks = static_cast<const u64*>(stamps.host);
  const usize stride = bytes / sizeof(u64);
  const u64 first = queue.to_ns(ticks[stride - 1]), second = queue.to_ns(ticks[2 * stride - 1]);
  queue.memory().release(stamps);
  constexpr u64 kTooLong = 10'000'000'000;
  trial.require(first > 0 && second >= first && second - first < kTooLong,
                fmt::format("timestamps {} and {} ns", first, second));
}

// More submissions than a ring holds.
void many_submissions(Trial& trial) {
  hcq::Device& device = *trial.target().queues;
  const Ref<Buffer> to = make(device, kZero);
  Queue& queue = device.copy_queue();
  auto commands = queue.make_commands();
  for (u64 i = 1; i <= 20'000; ++i) {
    commands->clear();
    commands->write(address(device, *to), i);
    must(queue.submit(*commands));
  }
  must(queue.synchronize());
  expect(trial, read(*to), {20'000});
}

void graph_with_other_addresses(Trial& trial) {
  hcq::Device& device = *trial.target().queues;
  const Ref<Buffer> inputs[] = {make(device, kCounting), make(device, {9, 9, 9, 9, 9, 9, 9, 9})};
  const Ref<Buffer> middle = make(device, kZero), out = make(device, kZero);
  Graph graph;
  const u32 x = graph.memory(graph.storage(), 0, sizeof(Contents), graph.slot());
  const u32 m = graph.memory(graph.storage(), 0, sizeof(Contents), address(device, *middle));
  const u32 y = graph.memory(graph.storage(), 0, sizeof(Contents), address(device, *out));
  graph.copy(device.copy_queue(), m, x, sizeof(Contents));
  graph.copy(device.compute_queue(), y, m, sizeof(Contents));
  must(graph.bind());
  for (usize i = 0; i < 50; ++i) {
    const u64 values[] = {address(device, *inputs[i % 2]).value};
    must(must(graph.replay(values)).wait());
    expect(trial, read(*out), i % 2 == 0 ? kCounting : Contents{9, 9, 9, 9, 9, 9, 9, 9});
  }
}

void graph_over_two_devices(Trial& trial) {
  hcq::Device &device = *trial.target().queues, &peer = *trial.target().second_queues;
  const Ref<Buffer> here = make(device, kCounting), there = make(peer, kZero);
  const Ref<Buffer> back = make(device, kZero);
  Graph graph;
  const u32 h = graph.memory(graph.storage(), 0, sizeof(Contents), address(peer, *here));
  const u32 middle = graph.storage();  // as each of the two sees it
  const u32 t = graph.memory(middle, 0, sizeof(Contents), address(peer, *there));
  const u32 from = graph.memory(middle, 0, sizeof(Contents), address(device, *there));
  graph.copy(peer.copy_queue(), t, h, sizeof(Contents));
  const u32 b = graph.memory(graph.storage(), 0, sizeof(Contents), address(device, *back));
  graph.copy(device.copy_queue(), b, from, sizeof(Contents));
  must(graph.bind());
  Fence last;
  for (int i = 0; i < 50; ++i) last = must(graph.replay());
  must(last.wait());
  expect(trial, read(*back), kCounting);
}

}  // namespace

void add_queue_cases(Suite& suite) {
  const Needs one{.runs = true, .queues = true};
  const Needs two{.runs = true, .second_device = true, .queues = true};
  suite.add_alone("queue/commands/in_order", one, in_order);
  suite.add_alone("queue/fences/followed", one, fences);
  suite.add_alone("queue/timestamps/grow", one, timestamps);
  suite.add_alone("queue/submissions/many", one, many_submissions);
  suite.add_alone("queue/graph/other_addresses", one, graph_with_other_addresses);
  suite.add_alone("queue/graph/two_devices", two, graph_over_two_devices);
}

}  // namespace doorbell::conformance
