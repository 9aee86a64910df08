// query/match/json_schema.h - $jsonSchema: what a document has to look like, after draft 4 of JSON
// Schema as today's servers know it.
//
// A schema says nothing about values of types that its keywords are not about: {minLength: 2} takes
// every number. "type" has the types of JSON, "bsonType" those of BSON.
//
//   any value    bsonType type enum allOf anyOf oneOf not; title description say nothing
//   numbers      multipleOf minimum exclusiveMinimum maximum exclusiveMaximum
//   strings      minLength maxLength (in code points) pattern
//   objects      properties patternProperties additionalProperties required minProperties
//                maxProperties dependencies
//   arrays       items additionalItems minItems maxItems uniqueItems
//
// $ref, $schema, default, definitions, format, id, encrypt and the type "integer" are refused by
// name, as there.
#pragma once

#include <memory>

#include "bson/view.h"

namespace query {

class JsonSchema {
  public:
    // Views `schema`, which must outlive it. Throws base::Error 9, 14 or 2; the text names the
    // keyword.
    explicit JsonSchema(bson::Doc schema);
    ~JsonSchema();
    JsonSchema(const JsonSchema&) = delete;
    JsonSchema& operator=(const JsonSchema&) = delete;

    // Throws what sched::tick and Regex::search do.
    bool accepts(bson::Doc doc) const;

    struct Rules;  // of one (sub)schema

  private:
    std::unique_ptr<const Rules> rules_;
};

}  // namespace query
