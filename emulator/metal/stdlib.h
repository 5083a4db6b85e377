// metal_stdlib of our own, as text: the types and functions of MSL that the renderer writes, in C++
// for the host. [MSL 4, 2 "Data Types", 6 "Metal Standard Library"]
#pragma once

namespace doorbell::emu::metal {

extern const char* const kMetalStdlib;

}  // namespace doorbell::emu::metal
