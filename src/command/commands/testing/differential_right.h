// command/commands/testing/differential_right.h - what only an index answers ($near, $geoNear,
// $text), held against what is computed from every document.
//
// Distances and words are those of geo/ and text/, which recorded answers check: here it is about
// documents that a scan of an index passes over, gives twice, or gives in another order. A score is
// computed from the keys that the document has.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "command/commands/testing/differential.h"

namespace command::differential {

// A collection that has all documents of the case.
struct Holder {
    std::string collection;
    std::vector<bson::Object> indexes;  // their definitions
};

struct Searched {
    std::function<bson::Object(const std::string& command)> run;
    std::vector<Holder> holders;  // the first one has no index
};

// Each returns what is wrong; empty: nothing.
std::string check_near(const Searched& searched, const Node& arguments);
std::string check_geo_near(const Searched& searched, const Node& arguments);
std::string check_text(const Searched& searched, const Node& arguments);

}  // namespace command::differential
