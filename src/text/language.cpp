#include "text/language.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/thread_scratch.h"

namespace text {

namespace {

constexpr std::pair<std::string_view, std::string_view> kLanguages[] = {
    {"danish", "da"},    {"dutch", "nl"},      {"english", "en"},   {"finnish", "fi"},
    {"french", "fr"},    {"german", "de"},     {"hungarian", "hu"}, {"italian", "it"},
    {"norwegian", "nb"}, {"portuguese", "pt"}, {"romanian", "ro"},  {"russian", "ru"},
    {"spanish", "es"},   {"swedish", "sv"},    {"turkish", "tr"},   {"none", "none"},
};

bool is_whole_name(std::string_view name) {
    return std::ranges::any_of(kLanguages,
                               [name](const auto& known) { return known.first == name; });
}

std::string in_small_letters(std::string_view text) {
    std::string small(text);
    for (char& c : small)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return small;
}

struct Cache {
    // Those that have a stemmer or stop words, and one for all others: documents of version 1 name
    // what they like.
    std::map<std::string, std::unique_ptr<Language>> known;
    std::map<std::string, std::unique_ptr<Language>> by_code;  // of version 1
};

}  // namespace

std::optional<std::string> language_name(std::string_view given, Version version) {
    if (version == Version::v1) return std::string(given);
    const std::string small = in_small_letters(given);
    for (const auto& [name, code] : kLanguages)
        if (small == name || small == code) return std::string(name);
    return std::nullopt;
}

Language& Language::of(const std::string& name) {
    Cache& cache = base::thread_scratch<Cache>();
    auto& languages = is_whole_name(name) ? cache.known : cache.by_code;
    if (const auto found = languages.find(name); found != languages.end()) return *found->second;
    auto made = std::make_unique<Language>(name, library());
    // The stemmers have some forty names, of few letters; what is none of them is as "none" is.
    if (made->stemmer_ == nullptr && name != "none") return of("none");
    return *languages.emplace(name, std::move(made)).first->second;
}

Language::Language(const std::string& name, const Library& library)
    : name_(name), library_(library) {
    if (name.find('\0') != std::string::npos || name == "none") return;
    stemmer_ = library.open(name.c_str());
    stop_words_ = library.stop_words(name);
}

Language::~Language() {
    if (stemmer_ != nullptr) library_.close(stemmer_);
}

bool Language::is_stop_word(std::string_view word) const {
    // The list is sorted; each word ends with a newline.
    std::string_view rest = stop_words_;
    while (!rest.empty()) {
        size_t begin = rest.rfind('\n', (rest.size() - 1) / 2);
        begin = begin == std::string_view::npos ? 0 : begin + 1;
        const size_t end = rest.find('\n', begin);
        const int order = word.compare(rest.substr(begin, end - begin));
        if (order == 0) return true;
        rest = order < 0 ? rest.substr(0, begin) : rest.substr(end + 1);
    }
    return false;
}

std::string_view Language::stem(std::string_view word) {
    return stemmer_ == nullptr ? word : library_.stem(stemmer_, word);
}

}  // namespace text
