// query/stage/testing/expressions.h - expressions over one document, by a pipeline.
#pragma once

#include <initializer_list>
#include <string>

#include "dialect/dialect.h"

namespace query {

struct Client {
    dialect::Dialect dialect = dialect::kToday;
    std::string doc = R"({"n": 7, "s": "text", "a": [3, 1, 2], "d": {"x": 1, "y.z": 2}})";
};

// The value of an expression over one document, as text; "missing", or the code of an error.
std::string value_of(const std::string& expression, const Client& client = {});
std::string old_value_of(const std::string& expression);

struct Case {
    const char* expression;
    const char* value;
};

// By a client of today.
void expect(std::initializer_list<Case> cases);

}  // namespace query
