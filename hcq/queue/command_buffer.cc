// Words, data and patches.
#include "hcq/queue/command_buffer.h"

namespace doorbell::hcq {
namespace {

void put_operand(std::span<u32> words, std::vector<Patch>& patches, const Patch& place,
                 Operand operand) {
  if (operand.is_slot()) {
    patches.push_back(place);
    patches.back().addend = operand.value;
  } else {
    apply(place, operand.value, words);
  }
}

}  // namespace

void CommandBuffer::clear() {
  words_.clear();
  data_.clear();
  data_address_.reset();
  patches_.clear();
  data_patches_.clear();
  relocations_.clear();
  data_links_.clear();
}

void CommandBuffer::relocate(std::span<u32> words, GpuAddr data) const {
  for (const Patch& place : relocations_) apply(place, data.value + place.slot * u64{4}, words);
}

void CommandBuffer::relocate_data(std::span<u32> data, GpuAddr address) const {
  for (const Patch& place : data_links_) apply(place, address.value + place.slot * u64{4}, data);
}

void CommandBuffer::put(u32 word, Bits bits, Operand operand, u8 shift) {
  put_operand(words_.span(), patches_, {word, bits, shift, operand.slot}, operand);
}

u32 CommandBuffer::add_data(u32 count, u32 alignment) {
  const u32 first = (data_.size() + alignment - 1) / alignment * alignment;
  data_.append_zeros(first - data_.size() + count);
  return first;
}

void CommandBuffer::put_data(u32 word, Bits bits, Operand operand, u8 shift) {
  put_operand(data_.span(), data_patches_, {word, bits, shift, operand.slot}, operand);
}

void CommandBuffer::put_data_address(u32 word, Bits bits, u32 target, u8 shift) {
  if (data_address_)
    apply({word, bits, shift, 0}, data_address_->value + target * u64{4}, words_.span());
  else
    relocations_.push_back({word, bits, shift, target});
}

void CommandBuffer::put_data_link(u32 word, Bits bits, u32 target, u8 shift) {
  if (data_address_)
    apply({word, bits, shift, 0}, data_address_->value + target * u64{4}, data_.span());
  else
    data_links_.push_back({word, bits, shift, target});
}

}  // namespace doorbell::hcq
