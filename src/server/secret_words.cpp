#include "server/secret_words.h"

#include <algorithm>
#include <cstring>

#include "options/catalogue.h"

namespace server {

namespace {

bool has_name(const options::Description& d, std::string_view name) {
    return name == d.name ||
           std::ranges::any_of(d.old_names, [name](const auto& old) { return name == old.name; });
}

template <typename Has>
bool is_of_secret(const Has& has) {
    return std::ranges::any_of(options::all(), [&has](const options::Option* option) {
        return option->description().secret && has(option->description());
    });
}

}  // namespace

bool is_secret(std::string_view name) {
    return is_of_secret([name](const options::Description& d) { return has_name(d, name); });
}

std::vector<SecretWord> secret_words(const std::vector<std::string>& argv) {
    std::vector<SecretWord> found;
    for (size_t i = 0; i < argv.size(); ++i) {
        const std::string_view word = argv[i];
        const size_t dashes = word.find_first_not_of('-');
        if (dashes == 0 || dashes == std::string_view::npos) continue;
        size_t begin = std::string_view::npos;
        const size_t equals = word.find('=');
        if (is_secret(word.substr(dashes, equals - dashes))) {
            begin = equals == std::string_view::npos ? word.size() : equals + 1;
        } else if (dashes == 1 && is_of_secret([letter = word[1]](const options::Description& d) {
                       return d.letter == letter;
                   })) {
            begin = 2;
        }
        if (begin == std::string_view::npos) continue;
        if (begin < word.size())
            found.push_back({i, begin});
        else if (word.back() != '=' && i + 1 < argv.size())
            found.push_back({++i, 0});
    }
    return found;
}

std::vector<std::string> without_secrets(std::vector<std::string> argv) {
    for (const SecretWord& secret : secret_words(argv))
        argv[secret.place].replace(secret.begin, std::string::npos, kSecret);
    return argv;
}

void hide_secrets(int argc, char** argv) {
    for (const SecretWord& secret : secret_words({argv, argv + argc})) {
        char* const value = argv[secret.place] + secret.begin;
        std::memset(value, 'x', std::strlen(value));
    }
}

}  // namespace server
