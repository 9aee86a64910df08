#include "script/duktape/source.h"

#include <algorithm>
#include <iterator>

namespace script {

namespace {

constexpr std::string_view kKeep = "keepSource(";
// The text of a function stands in those of all around it.
constexpr int kDepthMax = 16;
constexpr size_t kBytesMax = size_t{256} * 1024;

bool begins_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<signed char>(c) < 0;
}
bool goes_on(char c) {
    return begins_word(c) || (c >= '0' && c <= '9');
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out.push_back('\\');
        if (c == '\n')
            out += "\\n";
        else if (c == '\r')
            out += "\\r";
        else
            out.push_back(c);
    }
    return out + "\"";
}

// Words behind which an expression begins.
bool expects_operand(std::string_view word) {
    constexpr std::string_view kWords[] = {"return", "typeof", "case", "in",        "delete",
                                           "void",   "throw",  "new",  "instanceof"};
    return std::ranges::find(kWords, word) != std::end(kWords);
}

class Scanner {
  public:
    explicit Scanner(std::string_view code) : code_(code) {}

    std::string run() {
        while (at_ < code_.size())
            step();
        return std::move(out_);
    }

  private:
    // What stood before: it decides what a slash and a function are.
    enum class Before { statement, operand_wanted, operand };

    char now() const { return at_ < code_.size() ? code_[at_] : '\0'; }
    bool is_here(std::string_view text) const { return code_.substr(at_).starts_with(text); }
    void copy(size_t until) {
        until = std::min(until, code_.size());
        out_ += code_.substr(at_, until - at_);
        at_ = until;
    }

    void step() {
        const char c = now();
        if (is_here("//"))
            copy(code_.find('\n', at_));
        else if (is_here("/*"))
            copy(end_of_comment());
        else if (c == '"' || c == '\'')
            copy_quoted(c);
        else if (c == '/' && before_ != Before::operand)
            copy_regex();
        else if (begins_word(c))
            take_word();
        else
            take_sign(c);
    }

    size_t end_of_comment() const {
        const size_t end = code_.find("*/", at_ + 2);
        return end == std::string_view::npos ? code_.size() : end + 2;
    }

    void copy_quoted(char quote) {
        size_t end = at_ + 1;
        while (end < code_.size() && code_[end] != quote)
            end += code_[end] == '\\' ? 2 : 1;
        copy(end + 1);
        before_ = Before::operand;
    }

    void copy_regex() {
        size_t end = at_ + 1;
        bool in_class = false;
        while (end < code_.size() && code_[end] != '\n' && (in_class || code_[end] != '/')) {
            if (code_[end] == '[') in_class = true;
            if (code_[end] == ']') in_class = false;
            end += code_[end] == '\\' ? 2 : 1;
        }
        copy(end + 1);
        before_ = Before::operand;
    }

    void take_word() {
        size_t end = at_;
        while (end < code_.size() && goes_on(code_[end]))
            ++end;
        const std::string_view word = code_.substr(at_, end - at_);
        if (word == "function" && !after_dot_ && before_ != Before::operand && depth_ < kDepthMax) {
            ++depth_;
            take_function();
            --depth_;
            return;
        }
        copy(end);
        after_dot_ = false;
        const bool begins = word == "else" || word == "do";
        before_ = begins                  ? Before::statement
                  : expects_operand(word) ? Before::operand_wanted
                                          : Before::operand;
    }

    void take_sign(char c) {
        copy(at_ + 1);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return;
        after_dot_ = c == '.';
        if (c == ')' || c == ']' || (c >= '0' && c <= '9'))
            before_ = Before::operand;
        else if (c == ';' || c == '{' || c == '}')
            before_ = Before::statement;
        else
            before_ = Before::operand_wanted;
    }

    void take_function() {
        const bool is_declaration = before_ == Before::statement;
        const size_t start = at_;
        std::string outer = std::move(out_);
        out_.clear();
        copy(at_ + std::string_view("function").size());
        const std::string name = name_behind();
        before_ = Before::operand;
        int depth = 0;
        while (at_ < code_.size()) {
            const char c = now();
            const bool is_sign = c == '{' || c == '}';
            step();
            if (is_sign) depth += c == '{' ? 1 : -1;
            if (is_sign && depth == 0) break;
        }
        const std::string text = quoted(code_.substr(start, at_ - start));
        if (!is_declaration) {
            out_ = outer + std::string(kKeep) + text + "," + out_ + ")";
            before_ = Before::operand;
        } else {
            outer += out_;
            if (!name.empty()) outer += ";" + std::string(kKeep) + text + "," + name + ");";
            out_ = std::move(outer);
            before_ = Before::statement;
        }
    }

    std::string name_behind() const {
        size_t begin = code_.find_first_not_of(" \t\r\n", at_);
        if (begin == std::string_view::npos || !begins_word(code_[begin])) return "";
        size_t end = begin;
        while (end < code_.size() && goes_on(code_[end]))
            ++end;
        return std::string(code_.substr(begin, end - begin));
    }

    const std::string_view code_;
    size_t at_ = 0;
    std::string out_;
    Before before_ = Before::statement;
    bool after_dot_ = false;
    int depth_ = 0;  // of functions around this place
};

}  // namespace

std::string with_sources(std::string_view code) {
    return code.size() > kBytesMax ? std::string(code) : Scanner(code).run();
}

}  // namespace script
