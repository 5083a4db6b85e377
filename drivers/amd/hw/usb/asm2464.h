// The ASM2464PD, a bridge from USB to PCIe, with the open firmware that drives GPUs: its vendor
// requests, as the host sends them and as the bridge reads them.
//
// Each fact is in two places that do not include each other:
//   [firmware] tinygrad/asm2464pd-firmware c5e2090f97a8, handmade/src/main.c (what the bridge does
//              with a request), handmade/src/pcie_pio.h (how it streams), handmade/src/usb.h
//   [host]     tinygrad/tinygrad a9069c177a, tinygrad/runtime/support/usb.py CustomASM24Controller
// What PCIe has of it is as in [cyrozap] cyrozap/usb-to-pcie-re 0e931497d930,
// ASM2x6x/tools/asm2x6x_tool.py pcie_gen_req(), found on the maker's firmware.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::amd::hw {

// [firmware usb.h:8 USB_VID; host ops_amd.py USBIface: also 3801:0001, which has this source only]
struct BridgeId {
  u16 vendor = 0, product = 0;
};
inline constexpr BridgeId kBridgeIds[] = {{0xadd1, 0x0001}, {0x3801, 0x0001}};
// [firmware usb.h:65,67: endpoint descriptors; host: bulk_write(), bulk_read()]
inline constexpr u8 kBridgeInterface = 0, kBridgeOut = 0x02, kBridgeIn = 0x81;
// Of a bulk transfer over USB 3; a transfer that is shorter ends with one that is not full.
inline constexpr u32 kBridgePacketBytes = 1024;

// Vendor requests, by bRequest.
enum class BridgeRequest : u8 {
  // In: bytes of the bridge's own address space from wValue on, at most 512.
  // [firmware main.c:160-174; host: read()]
  ReadChip = 0xe4,
  // Out: the byte in wIndex 7:0 to address wValue. [firmware main.c:175-184; host: write()]
  WriteChip = 0xe5,
  // Out: a request on PCIe. In: how it ended. [firmware main.c:216-254, 264-316; host: _f0_out(),
  // _f0_in()]
  Tlp = 0xf0,
  // Out, without data: bytes come to the buffer by the next bulk transfer, or leave it. wValue has
  // sectors in 14:0, and the direction in 15 (1: they leave); wIndex the first slot in 7:0, and
  // slots in 15:8. [firmware main.c:185-206; host: scsi_write(), scsi_read_arm()]
  Buffer = 0xf2,
  // Out: the GPU's power, by wValue bit 0. [firmware main.c:207-215; host: set_pcie_power()]
  Power = 0xf3,
};
inline constexpr u32 kBridgeMostChipBytes = 512;

// The buffer, as the GPU reaches it on PCIe.
// [firmware README.md, pcie/test_sram_verify.py; host: ops_amd.py USBIface.__init__()]
inline constexpr u64 kBridgeBuffer = 0x20'0000;
inline constexpr u32 kBridgeBufferBytes = 512 << 10, kBridgeSlotBytes = 16 << 10,
                     kBridgeSectorBytes = 512;
// A page that the chip and the GPU both see: where it is for the GPU, and for the chip.
// [host: ops_amd.py USBIface.sys_buf, whose 0xa000 is 0x820000, and AMDAllocator._copyin() FENCE,
// which writes by one and reads by the other; firmware app/README.md, "Sys buffer"]
inline constexpr u64 kBridgePage = 0x82'0000;
inline constexpr u16 kBridgePageOfChip = 0xa000;
// Bytes leave the buffer once the GPU has written a word of zero here.
// [firmware README.md; host: ops_amd.py USBIface.cq_buf, AMDAllocator._copyout()]
inline constexpr u64 kBridgeCompletion = 0x82'2000;
inline constexpr u32 kBridgeCompletionWord = 12;

// Of request Buffer.
struct BufferRequest {
  bool leaves = false;
  u32 slot = 0, slots = 0, sectors = 0;

  constexpr u16 setup_value() const { return static_cast<u16>(sectors | (leaves ? 0x8000 : 0)); }
  constexpr u16 setup_index() const { return static_cast<u16>(slot | slots << 8); }
  static constexpr BufferRequest read(u16 setup_value, u16 setup_index) {
    return {.leaves = (setup_value & 0x8000) != 0,
            .slot = setup_index & 0xffu,
            .slots = u32{setup_index} >> 8,
            .sectors = setup_value & 0x7fffu};
  }
};

// The state of the link's training: up in L0.
// [firmware main.c:72 REG_PCIE_LTSSM_STATE; host: CustomASM24Controller.__init__()]
inline constexpr u16 kBridgeLinkState = 0xb450;
inline constexpr u8 kBridgeLinkUp = 0x78;

// Fmt and Type of a header of PCIe. [PCI Express 3.0, table 2-3; cyrozap: fmt_type; host:
// pcie_cfg_req(), pcie_mem_read(), pcie_mem_write()]
enum class TlpType : u8 {
  ConfigRead0 = 0x04,  // of the bridge itself, on bus 0
  ConfigRead1 = 0x05,  // of a bus behind it
  ConfigWrite0 = 0x44,
  ConfigWrite1 = 0x45,
  MemoryRead = 0x20,  // with addresses of 64 bits
  MemoryWrite = 0x60,
};
constexpr bool has_data(TlpType type) { return (static_cast<u8>(type) & 0x40) != 0; }
constexpr bool is_posted(TlpType type) { return type == TlpType::MemoryWrite; }
constexpr bool is_config(TlpType type) { return (static_cast<u8>(type) & 0xbe) == 0x04; }

// How a request's words come. [firmware main.c:219-221: wIndex 1:0]
enum class TlpMode : u8 {
  Single = 0,       // a word, in the request
  StreamWrite = 1,  // words that follow each other, in a bulk transfer out
  StreamRead = 2,   // the same, in
};

// wValue has the type in 7:0 and the bytes of the word that count in 15:8; then 12 bytes of data:
// the address, and the word or how many there are. A stream goes word by word, each a request of
// its own on PCIe. [firmware main.c:266-313; host: _f0_out(), pcie_mem_write(), pcie_mem_read()]
struct TlpRequest {
  static constexpr usize kBytes = 12;
  TlpType type = TlpType::MemoryRead;
  u8 byte_enable = 0xf;
  TlpMode mode = TlpMode::Single;
  u64 address = 0;
  u32 value = 0;  // or how many words

  constexpr u16 setup_value() const {
    return static_cast<u16>(static_cast<u8>(type) | byte_enable << 8);
  }
  constexpr u16 setup_index() const { return static_cast<u16>(mode); }
  std::array<u8, kBytes> data() const {
    std::array<u8, kBytes> bytes;
    std::memcpy(bytes.data(), &address, sizeof address);
    std::memcpy(bytes.data() + sizeof address, &value, sizeof value);
    return bytes;
  }
  static TlpRequest read(u16 setup_value, u16 setup_index, std::span<const u8, kBytes> data) {
    TlpRequest request{.type = static_cast<TlpType>(setup_value & 0xff),
                       .byte_enable = static_cast<u8>(setup_value >> 8),
                       .mode = static_cast<TlpMode>(setup_index & 3)};
    std::memcpy(&request.address, data.data(), sizeof request.address);
    std::memcpy(&request.value, data.data() + sizeof request.address, sizeof request.value);
    return request;
  }
};

// The address of a request for configuration. [PCI Express 3.0, figure 2-18; host: pcie_cfg_req();
// cyrozap: pcie_cfg_req()]
constexpr u64 config_address(u8 bus, u8 device, u16 offset) {
  return u64{bus} << 24 | u64{device} << 19 | offset;
}

// How a request ended. [PCI Express 3.0, table 2-29; cyrozap: status_map]
enum class TlpStatus : u8 { Successful = 0, Unsupported = 1, ConfigRetry = 2, Aborted = 4 };

// What is read with request Tlp: the word, the two bytes of the completion's header that hold its
// status in 15:13, a register of the bridge, and whether there was a completion at all.
// [firmware main.c:225-254; host: _f0_in(), pcie_request(); the header: cyrozap, completion[1]]
struct TlpReply {
  static constexpr usize kBytes = 8;
  u32 value = 0;
  u16 header = 0;
  u8 unk_bridge = 0;  // "compl_status" there, never looked at by the host
  u8 failure = 0;     // 0: there was one; 1: an error of the link; 0xff: none came

  TlpStatus status() const { return static_cast<TlpStatus>(header >> 13); }
  std::array<u8, kBytes> data() const {
    std::array<u8, kBytes> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    bytes[4] = static_cast<u8>(header >> 8);
    bytes[5] = static_cast<u8>(header);
    bytes[6] = unk_bridge;
    bytes[7] = failure;
    return bytes;
  }
  static Result<TlpReply> read(std::span<const u8> bytes) {
    if (bytes.size() != kBytes)
      return fail(ErrorKind::Corrupt, "a reply of {} bytes, expected {}", bytes.size(), kBytes);
    TlpReply reply{.header = static_cast<u16>(bytes[4] << 8 | bytes[5]),
                   .unk_bridge = bytes[6],
                   .failure = bytes[7]};
    std::memcpy(&reply.value, bytes.data(), sizeof reply.value);
    return reply;
  }
};

}  // namespace doorbell::amd::hw
