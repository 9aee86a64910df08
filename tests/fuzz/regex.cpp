// Fuzz target: a regular expression and a text. The input is the pattern up to a NUL, the flags up
// to another one, and the text.
#include "query/match/regex.h"

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const std::string pattern(input.take_text());
    const std::string flags(input.take_text());
    const std::string text(input.take_text());
    fuzz::as_operation([&] {
        const query::Regex regex(pattern, flags);
        bool exact = false;
        const std::string prefix = regex.prefix(&exact);
        const bool found = regex.search(text);
        fuzz::expect(!found || text.starts_with(prefix),
                     "what matches starts with the prefix of its bounds");
        // Of a prefix the bytes decide, also in a text that is no UTF-8.
        const bool readable = !prefix.empty() || query::Regex("", "").search(text);
        fuzz::expect(!exact || found == (readable && text.starts_with(prefix)),
                     "exact bounds hold what matches");
        const query::Regex again(pattern, flags);
        fuzz::expect(again.search(text) == found, "a pattern answers alike each time");
    });
    return fuzz::kTaken;
}
