// What `doorbell amd registers`, `walk`, `rings`, `interrupts`, `firmware` and `dump` show of a GPU
// without a kernel driver, as JSON; and that as text. What it means is read by
// drivers/amd/kernel/pci/inspect.h; opening the GPU and the command line are in
// tools/doorbell/amd_bare.cc.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drivers/amd/kernel/pci/pci_kernel.h"

namespace doorbell::tools {

using OrderedJson = nlohmann::ordered_json;

// A GPU that is looked at, and where its firmware's files and the process's memory are.
struct BareGpuView {
  amd::PciGpu& gpu;
  amd::PciKernel& kernel;
};

OrderedJson view_registers(const BareGpuView& view, const std::vector<amd::hw::Reg>& registers);
// All that can be read without changing anything, of no queue.
std::vector<amd::hw::Reg> plain_registers();
OrderedJson view_walk(const BareGpuView& view, u64 address);
// Of queues that are on the hardware. `from_start`: the packets from the ring's beginning on, not
// only those that are not read yet.
OrderedJson view_rings(const BareGpuView& view, bool from_start);
OrderedJson view_interrupts(const BareGpuView& view, usize most_taken);
OrderedJson view_firmware(const BareGpuView& view, bool asks);
OrderedJson view_all(const BareGpuView& view, bool asks);

// Indented, a name and its value in a line; numbers above 9 in hex.
std::string to_text(const OrderedJson& json);

}  // namespace doorbell::tools
