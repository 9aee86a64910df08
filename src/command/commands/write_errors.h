// command/commands/write_errors.h - what a reply says of the items of a write that failed, in
// writeErrors and in the results of bulkWrite.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"

namespace command {

class WriteErrors {
  public:
    // Appends code and text, and the details. `shown`: as the client gets it.
    void tell(const base::Error& shown, bson::Builder& entry) {
        ++count_;
        const bool told = bytes_ < kToldBytes;
        const auto before = static_cast<int64_t>(entry.size());
        entry.append("code", shown.code())
            .append("errmsg", told ? std::string_view(shown.what()) : std::string_view());
        if (told && shown.details() != nullptr)
            entry.append_all(bson::Doc(shown.details()->data()));
        bytes_ += static_cast<int64_t>(entry.size()) - before;
    }
    int64_t count() const { return count_; }

  private:
    // When the errors have so many bytes, later ones have a code and no text: a reply has to stay a
    // document that clients take.
    static constexpr int64_t kToldBytes = 1024 * 1024;

    int64_t count_ = 0;
    int64_t bytes_ = 0;
};

}  // namespace command
