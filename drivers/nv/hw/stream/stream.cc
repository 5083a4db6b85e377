// Reading the words of a channel.
#include "drivers/nv/hw/stream/stream.h"

#include <algorithm>

#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/methods.h"

namespace doorbell::nv::hw {

namespace {

template <class Record>
void describe(std::span<const u32> words, std::string_view prefix, StreamPacket* packet,
              u32 first = 0) {
  describe_fields<Record>(words, prefix, packet, first);
  describe_strays<Record>(words, 0, packet);
}

// A word of zeroes is a NOP; nothing else of the two groups is written since Volta.
bool is_old(const MethodHeader& header) {
  return header.op == MethodOp::Grp0UseTert || header.op == MethodOp::Grp2UseTert ||
         header.op == MethodOp::Reserved6;
}

}  // namespace

Subchannels usual_subchannels(const ChipClasses& classes) {
  Subchannels bound{};
  bound[1] = classes.compute;
  bound[4] = classes.copy;
  return bound;
}

StreamReader::StreamReader(Subchannels bound) : bound_(bound) {}

ClassId StreamReader::compute_class() const {
  const auto compute = std::ranges::find(bound_, ClassKind::Compute, kind_of);
  return compute == bound_.end() ? ClassId::None : *compute;
}

StreamPacket StreamReader::read(StreamKind kind, std::span<const u32> words) {
  CHECK(!words.empty(), "no words");
  switch (kind) {
    case StreamKind::Gpfifo: return read_gp_entry(words);
    case StreamKind::Pushbuffer: return read_methods(words);
    case StreamKind::Qmd: break;
  }
  return read_qmd(words);
}

StreamPacket StreamReader::read_gp_entry(std::span<const u32> words) {
  StreamPacket packet;
  packet.words = GpEntry::kWords;
  packet.name = "GP_ENTRY";
  if (words.size() < GpEntry::kWords) {
    packet.words = static_cast<u32>(words.size());
    packet.payload.assign(words.begin(), words.end());
    complain(&packet, fmt::format("cut short: {} of {} words", words.size(), GpEntry::kWords));
    return packet;
  }
  words = words.first(GpEntry::kWords);
  const auto entry = decode<GpEntry>(words.first<GpEntry::kWords>());
  if (entry.length != 0) {
    describe<GpEntry>(words, "", &packet);
    packet.jump = PacketJump{entry.addr, entry.length, static_cast<u8>(StreamKind::Pushbuffer)};
    return packet;
  }
  packet.name = "GP_CONTROL";
  packet.opcode = extract(words, word(1, 7, 0));
  describe<GpControlEntry>(words, "", &packet);
  return packet;
}

// The record of the methods from `method` on where all its words are here, else a method by name.
// `first` is the data's first word in the packet.
void StreamReader::describe_run(u32 method, u8 subchannel, std::span<const u32> data, u32 first,
                                StreamPacket* packet) {
  const usize whole = data.size();
  while (!data.empty()) {
    const ClassKind kind = kind_of_method(bound_[subchannel], method);
    const std::string_view name = method_name(kind, method);
    u32 used = 1;
    bool described = false;
    visit_method(kind, method, [&]<class Record>(std::type_identity<Record>) {
      if (method != Record::kMethod || data.size() < Record::kWords) return;
      used = Record::kWords, described = true;
      const bool alone = whole == used;
      describe<Record>(data.first(used), alone ? "" : fmt::format("{}.", name), packet, first);
      if constexpr (std::is_same_v<Record, SetObject>) {
        bound_[subchannel] = decode<SetObject>(data.first<1>()).class_id;
      } else if constexpr (std::is_same_v<Record, SendPcasA>) {
        if (const auto version = qmd_version(bound_[subchannel]))
          packet->jump = PacketJump{decode<SendPcasA>(data.first<1>()).qmd_address,
                                    qmd_words(*version), static_cast<u8>(StreamKind::Qmd)};
      }
    });
    if (!described) {
      packet->fields.push_back(
          {name.empty() ? fmt::format("method_{:#06x}", method) : std::string(name),
           data[0],
           {},
           false,
           word(first)});
      if (name.empty() && kind != ClassKind::Other) complain(packet, "unknown method");
    }
    data = data.subspan(used), method += used * 4, first += used;
  }
}

StreamPacket StreamReader::read_methods(std::span<const u32> words) {
  const auto header = decode<MethodHeader>(words.first<1>());
  StreamPacket packet;
  packet.words = 1;
  packet.opcode = static_cast<u32>(header.op);
  packet.name = name_of(header.op);
  if (words[0] == 0) {
    packet.name = "NOP";
    return packet;
  }
  if (header.op == MethodOp::EndPbSegment) {
    packet.words = static_cast<u32>(words.size());
    packet.payload.assign(words.begin() + 1, words.end());
    return packet;
  }
  if (is_old(header)) {
    packet.fields.push_back({"word", words[0], {}});
    complain(&packet, "unknown");
    return packet;
  }
  const ClassKind kind = kind_of_method(bound_[header.subchannel], header.method);
  if (const std::string_view name = method_name(kind, header.method); !name.empty())
    packet.name = name;
  else
    packet.fields.push_back({"method", header.method, {}, false, word(0, 11, 0)});
  packet.fields.push_back({"subchannel", header.subchannel, {}, false, word(0, 15, 13)});
  if (header.op == MethodOp::Immediate) {
    const u32 data[] = {header.count};
    describe_run(header.method, header.subchannel, data, 0, &packet);
    return packet;
  }
  const usize count = header.count, here = std::min<usize>(count, words.size() - 1);
  packet.words = static_cast<u32>(1 + here);
  const std::span<const u32> data = words.subspan(1, here);
  if (header.op == MethodOp::Inc) {
    describe_run(header.method, header.subchannel, data, 1, &packet);
  } else {
    packet.fields.push_back({"op", static_cast<u64>(header.op), name_of(header.op)});
    packet.payload.assign(data.begin(), data.end());
  }
  if (here < count) complain(&packet, fmt::format("cut short: {} of {} words", here, count));
  return packet;
}

StreamPacket StreamReader::read_qmd(std::span<const u32> words) {
  const auto version = qmd_version(compute_class());
  const usize whole = version ? qmd_words(*version) : kQmdMaxWords;
  StreamPacket packet;
  packet.name = "QMD";
  packet.words = static_cast<u32>(std::min(words.size(), whole));
  if (!version || words.size() < whole) {
    packet.payload.assign(words.begin(), words.begin() + packet.words);
    complain(&packet, version ? fmt::format("cut short: {} of {} words", words.size(), whole)
                              : "no compute class is bound, so that its version is not known");
    return packet;
  }
  auto qmd = Qmd::from_words(*version, words.first(whole));
  packet = describe_qmd(*qmd);
  if (qmd->get(QmdField::DependentQmd0Enable) != 0) {
    constexpr unsigned kPointerShift = 8;  // as SEND_PCAS_A's
    packet.jump = PacketJump{qmd->get(QmdField::DependentQmd0Pointer) << kPointerShift,
                             static_cast<u32>(whole), static_cast<u8>(StreamKind::Qmd)};
  }
  return packet;
}

void walk_stream(StreamKind kind, Subchannels bound, std::span<const u32> words,
                 const ReadWords& memory,
                 const std::function<void(const StreamPacket&, int depth)>& visit) {
  StreamReader reader(bound);
  const auto read = [&reader](u8 of, std::span<const u32> rest) {
    return reader.read(static_cast<StreamKind>(of), rest);
  };
  walk_packets(static_cast<u8>(kind), words, read, memory, visit);
}

std::string stream_text(StreamKind kind, Subchannels bound, std::span<const u32> words,
                        const ReadWords& memory) {
  std::string out;
  walk_stream(kind, bound, words, memory, [&](const StreamPacket& packet, int depth) {
    out += indented_text(packet, depth) + '\n';
  });
  return out;
}

}  // namespace doorbell::nv::hw
