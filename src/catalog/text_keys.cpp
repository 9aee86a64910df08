#include "catalog/index_keys.h"

#include <algorithm>

#include "base/error.h"
#include "sched/tick.h"
#include "storage/sorted_index.h"
#include "text/library.h"
#include "text/terms.h"

namespace catalog {

namespace {

using bson::Doc;
using bson::Element;

// Whether one path is the other one, or leads into it.
bool meets(std::string_view a, std::string_view b) {
    const size_t shared = std::min(a.size(), b.size());
    return a.substr(0, shared) == b.substr(0, shared) &&
           (a.size() == b.size() || (a.size() > shared ? a : b)[shared] == '.');
}

// The path without the parts that may be positions in arrays.
std::string without_numbers(std::string_view path) {
    std::string out;
    for (size_t begin = 0; begin <= path.size();) {
        const size_t end = std::min(path.find('.', begin), path.size());
        const std::string_view part = path.substr(begin, end - begin);
        if (part.find_first_not_of("0123456789") != std::string_view::npos) {
            if (!out.empty()) out += '.';
            out += part;
        }
        begin = end + 1;
    }
    return out;
}

class TextKeyGenerator : public KeyGenerator {
  public:
    explicit TextKeyGenerator(Doc spec) : KeyGenerator(spec) {
        text::library();  // before any key is asked for
        text_ = std::make_shared<const text::Spec>(spec);
    }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        std::vector<Element> before;
        std::vector<Element> behind;
        for (const std::string& path : text_->prefix)
            before.push_back(value_at(doc, path, true));
        for (const std::string& path : text_->suffix)
            behind.push_back(value_at(doc, path, false));
        const text::Scores scores = text::scores_of(*text_, doc, text::folding_of(text_->version));
        for (const auto& [term, score] : sched::ticked(scores)) {
            const size_t start = out.buffer().size();
            bson::Builder key(out.buffer());
            append(before, key);
            key.append("", term).append("", score);
            append(behind, key);
            key.finish();
            out.add(start);
        }
        if (out.size() > 1) out.normalise(descending_);
    }

    bool may_change_keys(std::string_view path) const override {
        if (text_->wildcard) return true;
        const std::string plain = without_numbers(path);
        const size_t last = plain.rfind('.');
        if (plain.substr(last == std::string::npos ? 0 : last + 1) == text_->language_override)
            return true;
        for (const auto& weight : sched::ticked(text_->weights))
            if (meets(weight.first, path) || meets(weight.first, plain)) return true;
        return false;
    }

  private:
    // The value of a plain field, by documents only: before the text there may be no array.
    static Element value_at(Doc doc, std::string_view path, bool is_before) {
        for (;;) {
            const size_t dot = path.find('.');
            const Element e = doc[path.substr(0, dot)];
            if (e.is_array() && is_before)
                base::fail(16675, "a field before the text of an index cannot be an array: {}",
                           path);
            if (dot == std::string_view::npos) return e;
            if (!e.is_object()) return {};
            doc = e.as_doc();
            path.remove_prefix(dot + 1);
        }
    }

    static void append(const std::vector<Element>& values, bson::Builder& key) {
        for (const Element& value : values) {
            if (value)
                key.append_as("", value);
            else
                key.append_null("");
        }
    }
};

}  // namespace

std::unique_ptr<KeyGenerator> make_text_keys(Doc spec) {
    return std::make_unique<TextKeyGenerator>(spec);
}

}  // namespace catalog
