// bson/validate.h - checks BSON from a client or a file, before anything reads it in place (wire
// spec 1.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bson/view.h"

namespace bson {

// Documents in data files of the old server may have booleans other than 0 and 1, all of them true;
// from clients they are not taken.
enum class Source { client, data_file };

// The reason why a document is unusable: damage, or deeper nesting than kDepthMax.
enum class Defect { none, damaged, too_deep };

// Checks that `data` starts with one whole, well-formed document of at most `available` bytes:
// known types, lengths inside their parents, terminators, bool bytes 0 or 1, nesting up to
// kDepthMax. UTF-8 is not checked, array names are not checked. Returns an empty string if it is
// valid, else what is wrong and at which offset. Never reads outside [data, data + available).
// *defect, if given, gets the kind of the fault.
std::string validate(const uint8_t* data, size_t available, Defect* defect = nullptr,
                     Source source = Source::client);

// Checks a document that was made here, from valid ones: throws base::Error kOverflow, which calls
// the document `what`, if it is nested deeper than kDepthMax. Code that walks a document needs
// stack for every level.
void check_depth(Doc doc, std::string_view what);

}  // namespace bson
