// command/context/last_error.h - what the last write of a connection came to: the answer to
// getLastError and getPrevError (wire spec 3.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bson/builder.h"

namespace command {

// Holds one outcome, that of the last update, delete or failure. An insert that succeeds leaves it
// alone; it only grows older.
class LastError {
  public:
    // A request that is not one of the getLastError family begins.
    void next_request() {
        ++age_;
        // If a collection has no index on _id, the upserted _id may be as large as a document.
        if (age_ > 1 && upserted_.doc().size() > kKeptBytes) upserted_ = {};
    }
    void reset() { *this = LastError(); }

    void record_delete(int64_t n);
    // `upserted`: {"": id}, or empty.
    void record_update(bool existing, int64_t n, const bson::Object& upserted);
    void record_error(int code, std::string text);
    // A document inserted by command: changes the count of the outcome, nothing else.
    void record_insert() { n_ = 1; }

    // Whether the request before failed; then with this code.
    bool failed() const { return fresh() && !error_.empty(); }
    int code() const { return code_; }
    // Appends what getLastError tells: err, code and n of a failure, else updatedExisting, upserted
    // and n. It appends only n unless the outcome is that of the request before.
    void append_last(bson::Builder& out) const;
    // getPrevError: the outcome however old, and nPrev (how many requests ago, -1: there is none).
    void append_previous(bson::Builder& out) const;

  private:
    // The largest upserted _id that getPrevError knows; getLastError knows it whatever its size.
    static constexpr int32_t kKeptBytes = 4 * 1024;

    bool fresh() const { return known_ && age_ == 1; }
    void record();
    void append_outcome(bson::Builder& out) const;

    bool known_ = false;
    int64_t age_ = -1;
    int64_t n_ = 0;
    std::optional<bool> updated_existing_;
    bson::Object upserted_;
    std::string error_;
    int code_ = 0;
};

}  // namespace command
