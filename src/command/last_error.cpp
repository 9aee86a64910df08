#include "command/last_error.h"

#include <utility>

namespace command {

void LastError::record_delete(int64_t n) {
    kind_ = Kind::remove;
    n_ = n;
}

void LastError::record_update(bool existing, int64_t n, const bson::Object& upserted) {
    kind_ = Kind::update;
    updated_existing_ = existing;
    n_ = n;
    upserted_ = upserted;
}

void LastError::record_error(int code, std::string text) {
    kind_ = Kind::error;
    error_ = std::move(text);
    code_ = code;
    age_ = 1;
}

void LastError::append_last(bson::Builder& out) const {
    if (kind_ == Kind::error) {
        out.append("err", error_);
        if (code_ != 0) out.append("code", code_);
        out.append("n", 0);
        return;
    }
    if (kind_ == Kind::update) {
        out.append("updatedExisting", updated_existing_);
        if (!upserted_.empty()) out.append_as("upserted", upserted_.doc().first());
    }
    const bool counts = kind_ == Kind::update || kind_ == Kind::remove;
    out.append("n", static_cast<int32_t>(counts ? n_ : 0));
}

void LastError::append_previous(bson::Builder& out) const {
    if (age_ < 0) {
        out.append_null("err");
    } else {
        out.append("err", error_);
        if (code_ != 0) out.append("code", code_);
    }
    out.append("n", 0).append("nPrev", static_cast<int32_t>(age_));
}

}  // namespace command
