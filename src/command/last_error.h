// command/last_error.h - what the last write of a connection came to: the answer to getLastError
// and getPrevError (wire spec 3.9).
#pragma once

#include <cstdint>
#include <string>

#include "bson/builder.h"

namespace command {

class LastError {
  public:
    // A request that is not one of the getLastError family begins: what the one before it did is
    // forgotten, and the last failure is one request older.
    void next_request() {
        kind_ = Kind::none;
        if (age_ >= 0) ++age_;
    }
    void reset() {
        kind_ = Kind::none;
        age_ = -1;
    }

    void record_insert() { kind_ = Kind::insert; }
    void record_delete(int64_t n);
    // `upserted`: {"": id}, or empty.
    void record_update(bool existing, int64_t n, const bson::Object& upserted);
    void record_error(int code, std::string text);

    bool failed() const { return kind_ == Kind::error; }
    // getLastError: err, code and n of a failure, else updatedExisting, upserted and n.
    void append_last(bson::Builder& out) const;
    // getPrevError: err, code, n, nPrev (how many requests ago, -1: never).
    void append_previous(bson::Builder& out) const;

  private:
    enum class Kind { none, insert, update, remove, error };

    Kind kind_ = Kind::none;
    bool updated_existing_ = false;
    int64_t n_ = 0;
    bson::Object upserted_;
    // The last failure; kept when younger requests succeed.
    int64_t age_ = -1;
    std::string error_;
    int code_ = 0;
};

}  // namespace command
