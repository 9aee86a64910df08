// script/duktape/writer.h - writing BSON, as reader.h reads it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "bson/types.h"

namespace script {

class Writer {
  public:
    std::string& bytes() { return out_; }

    size_t begin() {
        const size_t start = out_.size();
        out_.append(4, '\0');
        return start;
    }
    void end(size_t start) {
        out_.push_back('\0');
        const auto size = static_cast<int32_t>(out_.size() - start);
        std::memcpy(&out_[start], &size, sizeof size);
    }
    void field(bson::Type type, std::string_view name) {
        out_.push_back(static_cast<char>(type));
        out_ += name;
        out_.push_back('\0');
    }
    template <typename T>
    void number(T value) {
        out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void text(std::string_view text) {
        number(static_cast<int32_t>(text.size() + 1));
        out_ += text;
        out_.push_back('\0');
    }
    void raw(std::string_view bytes) { out_ += bytes; }

  private:
    std::string out_;
};

}  // namespace script
