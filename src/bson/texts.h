// bson/texts.h - all texts of a document: names, strings, code, regular expressions, at any depth.
#pragma once

#include <cstdint>

#include "bson/view.h"

namespace bson {

// Whether all of them are UTF-8, as documents have them, while clients may send others.
bool texts_are_utf8(Doc doc);

// Puts '?' in the place of each byte that is no UTF-8; sizes stay. Returns whether there was one.
bool make_texts_utf8(uint8_t* doc);

}  // namespace bson
