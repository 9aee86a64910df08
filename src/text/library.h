// text/library.h - the stemmers and stop words, which are in a shared object of their own, text.so:
// it is loaded when the first text index, or search, needs it.
//
// The room text/ is what a text index means: its definition (spec.h), the languages (language.h),
// what the words of a text are (tokens.h), which terms a document has and what each counts
// (terms.h), and what a search asks for (search.h). The rooms above make keys and plans of these.
#pragma once

#include <string_view>

namespace text {

// What text.so exports, under the name of kLibrarySymbol with C linkage.
struct Library {
    const char* version;  // base::kProgramVersion, of the sources that it was made from
    // A stemmer by the name or a code of its language; null: there is none. Not for two threads at
    // a time.
    void* (*open)(const char* name);
    void (*close)(void* stemmer);
    // Returns the stem of a word in small letters, valid until the next call.
    std::string_view (*stem)(void* stemmer, std::string_view word);
    // The words that mean nothing, each with a newline behind it; empty: the language, by its
    // whole name, has no list.
    std::string_view (*stop_words)(std::string_view language);
};
constexpr const char* kLibrarySymbol = "mongod_dur_text_library";

// Loads it at the first call. Throws base::Error 20 where it is not installed.
const Library& library();

}  // namespace text
