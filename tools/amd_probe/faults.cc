// What goes wrong on purpose: a kernel that never ends, an instruction that is none, an address
// where nothing is. Each must be reported as the facts say, and work must go on.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/util/try.h"
#include "tools/amd_probe/card.h"
#include "tools/amd_probe/kernels.h"
#include "tools/amd_probe/launch.h"

namespace doorbell::tools {
namespace {

// Where the report of a hang finds a wave: "at wrong+0x4 (0x2000...)" is 4.
std::optional<u64> offset_in(const std::string& message, std::string_view kernel) {
  const std::string start = fmt::format("at {}+0x", kernel);
  const usize at = message.find(start);
  if (at == std::string::npos) return {};
  u64 offset = 0;
  const char* digits = message.data() + at + start.size();
  if (std::from_chars(digits, message.data() + message.size(), offset, 16).ec != std::errc())
    return {};
  return offset;
}

std::string short_text(const std::string& message) {
  constexpr usize kMost = 400;
  return message.size() <= kMost ? message : message.substr(0, kMost) + "...";
}

// A wave is where the facts say that it is found.
std::optional<Outcome> check_position(const std::string& message, std::string_view kernel,
                                      u64 first, u64 last) {
  const std::optional<u64> offset = offset_in(message, kernel);
  if (!offset)
    return differs(Fact::SavedWords, fmt::format("a wave of {} in the report", kernel),
                   short_text(message));
  if (*offset < first || *offset > last)
    return differs(Fact::SavedPc,
                   first == last ? fmt::format("{}+{:#x}", kernel, first)
                                 : fmt::format("{0}+{1:#x} to {0}+{2:#x}", kernel, first, last),
                   fmt::format("{}+{:#x}", kernel, *offset));
  return {};
}

// That kernels run on it.
std::optional<Outcome> check_works(Launcher& launcher) {
  std::vector<std::array<u32, 4>> places(64);
  const auto run = [&]() -> Result<void> {
    TRY(const core::Ref<core::Buffer> out, launcher.buffer(std::span(places)));
    const core::BufferView views[] = {{out.get(), 0}};
    TRY(launcher.run("places", {.params = 1}, views, {}));
    return launcher.read(*out, std::span(places));
  };
  if (const Result<void> done = run(); !done)
    return differs(Fact::QueueRestart, "the queue to run a kernel again",
                   short_text(done.error().message));
  for (u32 i = 0; i < places.size(); ++i)
    if (places[i][1] != i)
      return differs(Fact::QueueRestart, fmt::format("item {} to run", i),
                     fmt::format("{}", places[i][1]));
  return {};
}

// Runs what does not end; abandons it, after its report is read.
Result<Outcome> run_endless(Card& card, std::string_view kernel, u64 first, u64 last,
                            std::string_view also) {
  TRY(Launcher launcher, Launcher::make(card));
  const u32 of_one_wave = card.caps.has_wave32 ? 32 : 64;
  const Result<void> done = launcher.run(kernel, {.items = of_one_wave}, {}, {});
  if (done) return differs(Fact::SavedPc, fmt::format("{} not to end", kernel), "it ended");
  const std::string& message = done.error().message;
  if (done.error().kind != ErrorKind::Timeout && done.error().kind != ErrorKind::DeviceLost)
    return done.error();
  if (std::optional<Outcome> found = check_position(message, kernel, first, last)) return *found;
  if (message.find(also) == std::string::npos)
    return differs(Fact::SavedWords, fmt::format("\"{}\" in the report", also),
                   short_text(message));
  if (done.error().kind == ErrorKind::DeviceLost) {
    card.is_lost = true;
    return ok(fmt::format("found at {}+{:#x}; the kernel reset the GPU: {}", kernel,
                          *offset_in(message, kernel), short_text(message)));
  }
  hcq::Queue& queue = launcher.device().compute_queue();
  queue.abandon();
  // What comes next has something to wait for that was not abandoned.
  const auto nothing = queue.make_commands();
  TRY(const hcq::Point behind, queue.submit(*nothing));
  if (const Result<void> waited = queue.wait(behind.position); !waited)
    return differs(Fact::QueueRestart, "the queue to go on", short_text(waited.error().message));
  if (std::optional<Outcome> found = check_works(launcher)) return *found;
  return ok(fmt::format("found at {}+{:#x}, abandoned; the queue works again", kernel,
                        *offset_in(message, kernel)));
}

constexpr const char* kLost = "this process has lost the GPU";

Result<Outcome> hang(Card& card) { return run_endless(card, "endless", 0, 4, "endless"); }

Result<Outcome> run_wrong_instruction(Card& card) {
  if (card.is_lost) return not_tried(kLost);
  return run_endless(card, "wrong", 4, 4, "stopped by an illegal instruction");
}

Result<Outcome> read_nowhere(Card& card) {
  if (card.is_lost) return not_tried(kLost);
  constexpr u64 kRange = u64{2} << 20, kInside = 0x5040, kPage = 4096;
  TRY(Launcher launcher, Launcher::make(card));
  TRY(const u64 range, card.kfd->reserve(kRange));
  const u64 address = range + kInside;
  const i64 variables[] = {static_cast<i64>(address)};
  const Result<void> done = launcher.run("touch", {.variables = 1}, {}, variables);
  card.is_lost = true;
  card.kfd->unreserve(range);
  if (done) return differs(Fact::FaultAddress, fmt::format("a fault at {:#x}", address), "none");
  const std::string& message = done.error().message;
  const std::string start = "memory fault at 0x";
  const usize at = message.find(start);
  u64 seen = 0;
  if (at == std::string::npos ||
      std::from_chars(message.data() + at + start.size(), message.data() + message.size(), seen, 16)
              .ec != std::errc())
    return differs(Fact::FaultAddress, fmt::format("a fault at {:#x}", address),
                   short_text(message));
  if (seen / kPage != address / kPage)
    return differs(Fact::FaultAddress, fmt::format("the page of {:#x}", address),
                   fmt::format("{:#x}", seen));
  if (message.find("the page is not present") == std::string::npos)
    return differs(Fact::FaultAddress, "that the page is not present", short_text(message));
  return ok(fmt::format("reported at {:#x} for {:#x}: not present", seen, address));
}

// The kernel keeps the queues of a process with a fault off the GPU, and of no other.
Result<Outcome> ask_other_process(Card& card) {
  if (card.options.in_other_process == nullptr) return not_tried("there is no other process");
  TRY(const bool is_ok, card.options.in_other_process());
  if (!is_ok)
    return differs(Fact::FaultAddress, "all steps of another process to go as before",
                   "some differ: run `doorbell amd probe` for them");
  return ok("all steps of another process go as before");
}

constexpr Fact kHangFacts[] = {Fact::QueueRestart, Fact::SavedWords, Fact::SavedPc};
constexpr Fact kWrongFacts[] = {Fact::SavedPc, Fact::SavedWords, Fact::QueueRestart};
constexpr Fact kAddressFacts[] = {Fact::FaultAddress};
constexpr Step kSteps[] = {
    {"hang", kHangFacts, "kernels", true, hang},
    {"instruction", kWrongFacts, "kernels", true, run_wrong_instruction},
    {"memory fault", kAddressFacts, "kernels", true, read_nowhere},
    {"afterwards", kAddressFacts, "kernels", true, ask_other_process},
};

}  // namespace

std::span<const Step> fault_steps() { return kSteps; }

}  // namespace doorbell::tools
