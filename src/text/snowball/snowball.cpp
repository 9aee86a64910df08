// text.so: the stemmers of Snowball as they were in 2010, and stop words.

#include <../../text-libs/include/snowball/libstemmer.h>

#include <algorithm>
#include <utility>

#include "base/program_version.h"
#include "text/library.h"

namespace text {

namespace {

sb_stemmer* stemmer_of(void* opened) {
    return static_cast<sb_stemmer*>(opened);
}

constexpr std::string_view kCodes[] = {
    "da",  "dan", "de",  "deu", "dut", "en",  "eng", "es", "esl", "fi", "fin", "fr",
    "fra", "fre", "ger", "hu",  "hun", "it",  "ita", "nl", "nld", "no", "nor", "por",
    "pt",  "ro",  "ron", "ru",  "rum", "rus", "spa", "sv", "swe", "tr", "tur"};

bool is_known(std::string_view name) {
    for (const char** known = sb_stemmer_list(); *known != nullptr; ++known)
        if (name == *known) return true;
    return std::ranges::find(kCodes, name) != std::end(kCodes);
}

// The library loses some memory with each name that it does not know.
void* open(const char* name) {
    return is_known(name) ? sb_stemmer_new(name, nullptr) : nullptr;
}

void close(void* stemmer) {
    sb_stemmer_delete(stemmer_of(stemmer));
}

std::string_view stem(void* stemmer, std::string_view word) {
    const auto* const bytes = reinterpret_cast<const sb_symbol*>(word.data());
    const sb_symbol* const stem =
        sb_stemmer_stem(stemmer_of(stemmer), bytes, static_cast<int>(word.size()));
    if (stem == nullptr) return word;  // no memory
    return {reinterpret_cast<const char*>(stem),
            static_cast<size_t>(sb_stemmer_length(stemmer_of(stemmer)))};
}

constexpr std::pair<std::string_view, std::string_view> kStopWords[] = {
#include <../../text-libs/include/snowball/stop_words.inc>
};

std::string_view stop_words(std::string_view language) {
    for (const auto& [name, words] : kStopWords)
        if (name == language) return words;
    return {};
}

}  // namespace

}  // namespace text

extern "C" __attribute__((visibility("default"))) const text::Library mongod_dur_text_library;
const text::Library mongod_dur_text_library = {base::kProgramVersion, text::open, text::close,
                                               text::stem, text::stop_words};
