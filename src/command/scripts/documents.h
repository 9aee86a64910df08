// command/scripts/documents.h - the documents of a collection that a script is given one by one.
#pragma once

#include <functional>
#include <string_view>

#include "bson/view.h"
#include "command/request/invocation.h"

namespace command {

// What is read. Missing elements are not given.
struct DocumentsAsked {
    std::string_view ns;
    bson::Doc query = {};
    bson::Doc sort = {};
    int64_t limit = 0;  // 0: all
};

// Calls `visit` with each document, while no lock is held. Throws the error of a find.
void each_document(Invocation& invocation, const DocumentsAsked& asked,
                   const std::function<void(bson::Doc)>& visit);

// Whether there is such a collection. Throws base::Error 166 for a view.
bool collection_exists(Invocation& invocation, std::string_view ns);

}  // namespace command
