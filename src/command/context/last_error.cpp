#include "command/context/last_error.h"

#include <utility>

#include "base/dcheck.h"

namespace command {

void LastError::record() {
    *this = LastError();
    known_ = true;
    age_ = 1;
}

void LastError::record_delete(int64_t n) {
    record();
    n_ = n;
}

void LastError::record_update(bool existing, int64_t n, const bson::Object& upserted) {
    DCHECK(upserted.empty() || upserted.doc().field_count() == 1);
    record();
    updated_existing_ = existing;
    n_ = n;
    upserted_ = upserted;
}

void LastError::record_error(int code, std::string text) {
    record();
    error_ = std::move(text);
    code_ = code;
}

void LastError::append_outcome(bson::Builder& out) const {
    DCHECK(known_);
    if (!error_.empty()) out.append("err", error_);
    if (code_ != 0) out.append("code", code_);
    if (updated_existing_.has_value()) out.append("updatedExisting", *updated_existing_);
    if (!upserted_.empty()) out.append_as("upserted", upserted_.doc().first());
    out.append("n", static_cast<int32_t>(n_));
}

void LastError::append_last(bson::Builder& out) const {
    if (fresh()) return append_outcome(out);
    out.append("n", 0);
}

void LastError::append_previous(bson::Builder& out) const {
    if (error_.empty()) out.append_null("err");
    if (known_) {
        append_outcome(out);
    } else {
        out.append("n", 0);
    }
    out.append("nPrev", static_cast<int32_t>(known_ ? age_ : -1));
}

}  // namespace command
