// What most files of the LLVM backend include, parsed once for them.
#include "build-aux/precompiled/include/library.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
