// What exports in every language do alike: the names that they accept, and writing a text.
#pragma once

#include <string>
#include <string_view>

#include "tensor/export/export.h"
#include "tensor/export/function.h"

namespace doorbell::detail {

// Throws Error: names that are no C identifiers, or there twice, or for nothing.
void check_names(const ExportedFunction& function, const ExportOptions& options);
// Replaces the file. Throws Error.
void write_text(const std::string& path, std::string_view text);

}  // namespace doorbell::detail
