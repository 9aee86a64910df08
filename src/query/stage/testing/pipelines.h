// query/stage/testing/pipelines.h - what a pipeline of today makes of some documents.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "query/stage/pipeline.h"

namespace query {

// The results as texts, one behind another, or "error CODE". `stages`: without the brackets.
inline std::string made_of(const std::string& stages, const std::vector<std::string>& documents) {
    PipelineContext context;
    context.dialect = dialect::kToday;
    std::vector<bson::Object> input;
    for (const std::string& document : documents)
        input.push_back(bson::from_json(document));
    try {
        const bson::Object list = bson::from_json(R"({"p": [)" + stages + "]}");
        const auto pipeline = Pipeline::parse(list["p"].as_doc(), context);
        size_t at = 0;
        if (!pipeline->has_own_source())
            pipeline->set_source([&](bson::Doc* out) {
                if (at == input.size()) return false;
                *out = input[at++];
                return true;
            });
        std::string text;
        bson::Doc result;
        while (pipeline->next(&result))
            text += bson::to_text(result);
        return text;
    } catch (const base::Error& e) {
        return "error " + std::to_string(e.code());
    }
}

}  // namespace query
