// tests/fuzz/mutator.h - changes inputs that are documents so that they stay documents: fields are
// added, removed, renamed, moved, nested, given other values. Bytes changed at random would nearly
// always be refused by the validator, and what lies behind it would never be reached.
#pragma once

#include <span>

namespace fuzz {

// Names that the target knows: operators, options, kinds. Each target that links the mutator
// defines it.
std::span<const char* const> words();

}  // namespace fuzz
