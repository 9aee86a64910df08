#include "query/stage/testing/expressions.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "query/stage/pipeline.h"

namespace query {

std::string value_of(const std::string& expression, const Client& client) {
    const bson::Object doc = bson::from_json(client.doc);
    PipelineContext context;
    context.dialect = client.dialect;
    try {
        const bson::Object stages =
            bson::from_json(R"({"p": [{"$project": {"_id": 0, "v": )" + expression + "}}]}");
        const auto pipeline = Pipeline::parse(stages["p"].as_doc(), context);
        bool given = false;
        pipeline->set_source([&](bson::Doc* out) {
            *out = doc;
            return !std::exchange(given, true);
        });
        bson::Doc result;
        if (!pipeline->next(&result)) return "nothing";
        const bson::Element v = result["v"];
        return v ? bson::to_text(v) : "missing";
    } catch (const base::Error& e) {
        return "error " + std::to_string(e.code());
    }
}

std::string old_value_of(const std::string& expression) {
    return value_of(expression, {.dialect = dialect::kV26});
}

void expect(std::initializer_list<Case> cases) {
    for (const Case& c : cases)
        EXPECT_EQ(value_of(c.expression), c.value) << c.expression;
}

}  // namespace query
