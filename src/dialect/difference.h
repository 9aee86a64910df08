// dialect/difference.h - one thing in which the two dialects differ: the cells of its row in
// docs/differences.md. `./lab docs` writes the rows there, from the headers beside this one.
#pragma once

#include <string_view>

namespace dialect {

struct Difference {
    std::string_view topic;
    std::string_view v26;
    std::string_view today;
};

}  // namespace dialect
