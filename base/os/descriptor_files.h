// DescriptorFiles: a door to files whose ioctls give out descriptors of further files, as VFIO's
// do.
#pragma once

#include <memory>
#include <string>

#include "base/os/files.h"

namespace doorbell::os {

class DescriptorFiles : public Files {
 public:
  // The file of such a descriptor, which it closes; `what` names it in errors.
  virtual Result<std::unique_ptr<File>> adopt(int descriptor, std::string what) = 0;
};

}  // namespace doorbell::os
