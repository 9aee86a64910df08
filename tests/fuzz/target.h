// tests/fuzz/target.h - what the fuzz targets share.
//
// A target is a program of libFuzzer: LLVMFuzzerTestOneInput() is handed bytes again and again and
// must return, whatever they are. What ends the process is a finding: a report of a sanitizer, a
// broken promise (expect), base::fatal, an exception that no client would get as an error, 5 s or
// 512 MB for one input. run.py starts targets with these limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"
#include "sched/operation.h"
#include "sched/tick.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuzz {

// What libFuzzer wants to hear: worth keeping if it reached something new, or not.
constexpr int kTaken = 0;
constexpr int kNoInput = -1;

// Operations get so long; they have to end well before libFuzzer's own limit.
constexpr int64_t kOperationMs = 1000;

// Ends the process with a finding.
[[noreturn]] void broken(std::string_view promise);
inline void expect(bool holds, std::string_view promise) {
    if (!holds) broken(promise);
}
// A whole, valid document that fills these bytes.
void expect_document(std::span<const uint8_t> bytes, std::string_view promise);

// The documents that the input is made of, each on the heap in its very size, so that a step
// outside is seen. Empty where the input is anything else.
std::vector<bson::Object> documents(const uint8_t* data, size_t size);

// Runs `work` as the server runs an operation of a client, within its limits of time and memory.
// Returns whether it came through; an error is an answer like others.
template <typename Work>
bool as_operation(Work&& work) {
    sched::Operation operation;
    operation.start();
    operation.set_deadline_ms(kOperationMs);
    const sched::Operation::Scope scope(&operation);
    try {
        work();
        return true;
    } catch (const base::Error& error) {
        expect(*error.what() != '\0', "an error says what is wrong");
    } catch (const std::bad_alloc&) {
        // The limit of memory.
    }
    return false;
}

// Takes an input apart from its beginning; behind its end everything is 0.
class Input {
  public:
    Input(const uint8_t* data, size_t size) : rest_(data, size) {}
    bool empty() const { return rest_.empty(); }
    template <typename T = uint8_t>
    T take() {
        T value{};
        const std::span<const uint8_t> bytes = take_bytes(sizeof value);
        if (!bytes.empty()) __builtin_memcpy(&value, bytes.data(), bytes.size());
        return value;
    }
    // As many as there are, up to n.
    std::span<const uint8_t> take_bytes(size_t n) {
        const std::span<const uint8_t> bytes = rest_.first(n < rest_.size() ? n : rest_.size());
        rest_ = rest_.subspan(bytes.size());
        return bytes;
    }
    // What stands before the next NUL, which is taken, too.
    std::string_view take_text() {
        size_t n = 0;
        while (n < rest_.size() && rest_[n] != 0)
            ++n;
        const std::span<const uint8_t> bytes = take_bytes(n);
        take_bytes(1);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

  private:
    std::span<const uint8_t> rest_;
};

}  // namespace fuzz
