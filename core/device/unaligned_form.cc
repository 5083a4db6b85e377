// Compiles and loads the form.
#include "core/device/unaligned_form.h"

#include "base/util/try.h"

namespace doorbell::core {

Result<Program*> UnalignedForm::get(Device& device) const {
  std::lock_guard lock(mutex_);
  if (program_ == nullptr) {
    TRY(const Binary binary, make_());
    TRY(program_, device.load(binary));
  }
  return program_.get();
}

}  // namespace doorbell::core
