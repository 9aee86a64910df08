// text.so: the stemmers of Snowball as they were in 2010, and stop words.

#include <../../text-libs/include/snowball/libstemmer.h>

#include <utility>

#include "base/program_version.h"
#include "text/library.h"

namespace text {

namespace {

sb_stemmer* stemmer_of(void* opened) {
    return static_cast<sb_stemmer*>(opened);
}

void* open(const char* name) {
    return sb_stemmer_new(name, nullptr);
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
