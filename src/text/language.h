// text/language.h - the languages of text indexes, and what they do to a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/library.h"

namespace text {

// The versions of text indexes: of 2.4, of 2.6, and the one of later servers that looks at letters
// rather than bytes.
enum class Version { v1 = 1, v2 = 2, v3 = 3 };

// Returns the name of a language as an index keeps it; none: there is no such language. A language
// has a whole name ("danish"), a code ("da"), and both in any case; "none" is one without stop
// words and stems. Indexes of version 1 take any name as it is.
std::optional<std::string> language_name(std::string_view given, Version version);

// A language by such a name, for the calling thread.
class Language {
  public:
    // Valid as long as the thread lives. Throws what library() does.
    static Language& of(const std::string& name);

    Language(const std::string& name, const Library& library);
    ~Language();
    Language(const Language&) = delete;
    Language& operator=(const Language&) = delete;

    const std::string& name() const { return name_; }
    // Of a word in small letters.
    bool is_stop_word(std::string_view word) const;
    // Valid until the next call.
    std::string_view stem(std::string_view word);
    // Whether an apostrophe is of a word, as in "don't".
    bool has_apostrophes() const { return name_ == "english"; }
    bool has_dotless_i() const { return name_ == "turkish"; }

  private:
    const std::string name_;
    const Library& library_;
    void* stemmer_ = nullptr;  // null: words are their own stems
    std::string_view stop_words_;
};

}  // namespace text
