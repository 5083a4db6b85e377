// What a channel reads, as packets with names and fields: entries of a GPFIFO, methods of
// pushbuffers, QMDs. For a driver's debug output, the emulator's trace and `doorbell decode`.
// Total: any words are some packets; what is not understood is said so with its words. Whether
// methods are allowed is for the emulator's checks.
#pragma once

#include "base/bits/packet.h"
#include "drivers/nv/hw/host/method_header.h"
#include "drivers/nv/hw/qmd/qmd.h"

namespace doorbell::nv::hw {

enum class StreamKind : u8 { Gpfifo, Pushbuffer, Qmd };

// The classes of the channel's subchannels, as SET_OBJECT bound them; methods can only be told by
// them.
using Subchannels = std::array<ClassId, kSubchannels>;
// Compute on subchannel 1 and copies on 4, as Mesa's and tinygrad's drivers bind them. [Mesa
// src/nouveau/headers/nv_push.h SUBC_NV90C0, SUBC_NV90B5; tinygrad ops_nv.py setup()]
Subchannels usual_subchannels(const ChipClasses& classes);

// Reads one channel's stream in order.
class StreamReader {
 public:
  // `bound`: what earlier words of the channel bound, for a stream that does not begin at its
  // beginning. `compute` says which version of QMD a stream of kind Qmd holds.
  explicit StreamReader(Subchannels bound = {});

  // The packet at the start of words, which are not empty. It is the last one when what it needs is
  // not there.
  StreamPacket read(StreamKind kind, std::span<const u32> words);

  const Subchannels& bound() const { return bound_; }

 private:
  StreamPacket read_gp_entry(std::span<const u32> words);
  StreamPacket read_methods(std::span<const u32> words);
  StreamPacket read_qmd(std::span<const u32> words);
  void describe_run(u32 method, u8 subchannel, std::span<const u32> data, u32 first,
                    StreamPacket* packet);
  ClassId compute_class() const;

  Subchannels bound_;
};

// Calls visit with every packet in order, and with those of the pushbuffers and QMDs that entries
// and methods name; see walk_packets().
void walk_stream(StreamKind kind, Subchannels bound, std::span<const u32> words,
                 const ReadWords& memory,
                 const std::function<void(const StreamPacket&, int depth)>& visit);

// All of it: a packet in a line, indented by depth.
std::string stream_text(StreamKind kind, Subchannels bound, std::span<const u32> words,
                        const ReadWords& memory = {});

}  // namespace doorbell::nv::hw
