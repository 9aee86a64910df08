// Values of secret options: shown by no name that an option has, in no form of a command line.
#include "server/secret_words.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>

#include "bson/json.h"
#include "options/catalogue.h"
#include "options/testing/reset.h"
#include "server/options.h"

namespace server {
namespace {

constexpr const char* kValue = "hunter2";
using Words = std::vector<std::string>;

std::vector<std::string> names_of(const options::Option& option) {
    const options::Description& d = option.description();
    std::vector<std::string> names = {d.name, std::string(option.parameter_name())};
    names.insert(names.end(), d.yaml.begin(), d.yaml.end());
    for (const options::OldName& old : d.old_names)
        names.insert(names.end(), {old.name, old.yaml});
    std::erase(names, "");
    return names;
}

std::vector<std::string> yaml_names_of(const options::Option& option) {
    std::vector<std::string> names(option.description().yaml.begin(),
                                   option.description().yaml.end());
    for (const options::OldName& old : option.description().old_names)
        names.emplace_back(old.yaml);
    return names;
}

std::vector<std::string> command_line_names_of(const options::Option& option) {
    std::vector<std::string> names = {option.description().name};
    for (const options::OldName& old : option.description().old_names)
        names.emplace_back(old.name);
    return names;
}

std::vector<options::Option*> secret_options() {
    std::vector<options::Option*> found = options::all();
    std::erase_if(found, [](const options::Option* o) { return !o->description().secret; });
    return found;
}

// Returns the ways to write the words of an option, and how they are shown.
std::map<Words, Words> forms_of(const std::string& name) {
    std::map<Words, Words> forms;
    for (const std::string& dashed : {"--" + name, "-" + name}) {
        forms[{dashed, kValue}] = {dashed, kSecret};
        forms[{dashed + "=" + kValue}] = {dashed + "=" + kSecret};
    }
    return forms;
}

CommandLine parse(Words words) {
    for (options::Option* option : options::all())
        options::reset(*option);
    // The password is one of a certificate.
    words.insert(words.begin(), {"mongod", "--tlsMode", "requireTLS", "--tlsCertificateKeyFile",
                                 "/nowhere/server.pem"});
    return parse_options(words);
}

// Returns what getCmdLineOpts, the log and local.startup_log have of it.
std::string shown(const CommandLine& command_line) {
    return fmt::format("{} {}", fmt::join(command_line.argv, " "),
                       bson::to_text(command_line.parsed.doc()));
}

class SecretWords : public testing::Test {
  protected:
    ~SecretWords() override {
        std::remove(config_.c_str());
        for (options::Option* option : options::all())
            options::reset(*option);
    }

    CommandLine parse_file(const std::string& text) {
        std::ofstream(config_) << text;
        return parse({"--config", config_});
    }

    std::string error_of(const Words& words) {
        try {
            parse(words);
        } catch (const OptionError& error) {
            return error.what();
        }
        return "";
    }

    const std::string config_ = testing::TempDir() + "/secret_words.conf";
};

TEST_F(SecretWords, AreThoseOfEachOptionWhoseNameSoundsLikeIt) {
    // Files, whose names are none, and a switch.
    const std::vector<std::string> known = {"keyFile", "tlsCertificateKeyFile",
                                            "coordinatorCertificateKeyFile",
                                            "coordinatorPasswordFile", "failIndexKeyTooLong"};
    std::vector<std::string> seen;
    for (const options::Option* option : options::all()) {
        for (std::string name : names_of(*option)) {
            std::ranges::transform(name, name.begin(), [](unsigned char c) {
                return static_cast<char>(std::tolower(c));
            });
            for (const char* word : {"password", "passwd", "passphrase", "pwd", "secret", "key",
                                     "credential", "token"}) {
                if (name.find(word) == std::string::npos || option->description().secret) continue;
                seen.emplace_back(option->description().name);
                EXPECT_TRUE(std::ranges::find(known, option->description().name) != known.end())
                    << option->description().name << " by its name " << name
                    << ": say .secret = true, or that it is none here";
            }
        }
    }
    for (const std::string& name : known)
        EXPECT_TRUE(std::ranges::find(seen, name) != seen.end()) << name;
}

// The texts of other errors, getParameter and the pairs of setParameter would show the value.
TEST_F(SecretWords, AreTextsWithoutChoicesAndNoParameters) {
    ASSERT_FALSE(secret_options().empty());
    for (const options::Option* option : secret_options()) {
        const options::Description& d = option->description();
        EXPECT_EQ(option->type(), options::Type::text) << d.name;
        EXPECT_TRUE(d.choices.empty()) << d.name;
        EXPECT_EQ(d.parameter, options::Parameter::no) << d.name;
    }
}

// Expects that `read` puts the value in force, or refuses the option, and that the value is not
// shown.
void expect_hidden(const options::Option& option, const std::string& name,
                   const std::function<CommandLine()>& read, const Words& wanted = {}) {
    try {
        const CommandLine command_line = read();
        EXPECT_EQ(std::get<std::string>(option.value()), kValue) << name;
        EXPECT_TRUE(std::equal(wanted.rbegin(), wanted.rend(), command_line.argv.rbegin()))
            << shown(command_line);
        EXPECT_EQ(shown(command_line).find(kValue), std::string::npos) << shown(command_line);
    } catch (const OptionError& error) {
        EXPECT_STRNE(option.description().refused, "") << name;
        EXPECT_EQ(std::string(error.what()).find(kValue), std::string::npos) << error.what();
    }
}

TEST_F(SecretWords, AreShownByNoName) {
    int in_force = 0;
    for (const options::Option* option : secret_options()) {
        for (const std::string& name : command_line_names_of(*option)) {
            EXPECT_TRUE(is_secret(name));
            for (const auto& [given, wanted] : forms_of(name)) {
                expect_hidden(
                    *option, name, [&] { return parse(given); }, wanted);
                in_force += option->is_set() ? 1 : 0;
            }
            expect_hidden(*option, name,
                          [&] { return parse_file(fmt::format("{} = {}\n", name, kValue)); });
        }
        for (const std::string& name : yaml_names_of(*option))
            expect_hidden(*option, name,
                          [&] { return parse_file(fmt::format("{}: {}\n", name, kValue)); });
    }
    EXPECT_GT(in_force, 0);
}

TEST_F(SecretWords, AreFoundBehindALetter) {
    const options::Text option({.name = "testSecret",
                                .letter = 'Z',
                                .old_names = {{.name = "oldTestSecret"}},
                                .default_value = "",
                                .secret = true});
    const std::map<Words, Words> forms = {
        {{"-Z", kValue}, {"-Z", kSecret}},
        {{"-Zhunter2"}, {"-Z<secret>"}},
        {{"--oldTestSecret", kValue}, {"--oldTestSecret", kSecret}},
        {{"--testSecret=a=b"}, {"--testSecret=<secret>"}},
    };
    for (const auto& [given, wanted] : forms) {
        const CommandLine command_line = parse(given);
        EXPECT_NE(option.get(), "");
        EXPECT_TRUE(std::equal(wanted.rbegin(), wanted.rend(), command_line.argv.rbegin()))
            << shown(command_line);
    }
}

TEST_F(SecretWords, LeaveOtherWordsAsTheyAre) {
    const Words words = {"mongod",
                         "--dbpath",
                         "/a=b",
                         "-v",
                         "-f",
                         "x",
                         "--port=1",
                         "--",
                         "-",
                         "",
                         "--tlsCertificateKeyFile=x",
                         "--tlsCertificateKeyFilePassword="};
    EXPECT_EQ(without_secrets(words), words);
    EXPECT_EQ(without_secrets({"mongod", "--sslPEMKeyPassword"}),
              (Words{"mongod", "--sslPEMKeyPassword"}));
}

TEST_F(SecretWords, AreHiddenFromOtherUsersOfTheMachine) {
    Words words = {"mongod", "--sslPEMKeyPassword",
                   kValue,   "--port",
                   "1",      "--tlsCertificateKeyFilePassword=hunter2"};
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    hide_secrets(static_cast<int>(argv.size()), argv.data());
    EXPECT_EQ(words, (Words{"mongod", "--sslPEMKeyPassword", "xxxxxxx", "--port", "1",
                            "--tlsCertificateKeyFilePassword=xxxxxxx"}));
}

TEST_F(SecretWords, AreInNoError) {
    std::ofstream(config_) << "port = 27017\nsslPEMKeyPassword hunter2\n";
    const std::string file_error = error_of({"--config", config_});
    EXPECT_NE(file_error.find("sslPEMKeyPassword"), std::string::npos) << file_error;
    EXPECT_EQ(file_error.find(kValue), std::string::npos) << file_error;
    for (const Words& words : std::vector<Words>{
             {"--sslPEMKeyPasswort=hunter2"},
             {"--sslPEMKeyPassword=hunter2", "--tlsCertificateKeyFilePassword=hunter3"},
             {"--sslPEMKeyPassword=hunter2", "--sslPEMKeyPassword=hunter2"},
             {"--sslPEMKeyPassword=hunter2", "--port=x"}}) {
        const std::string error = error_of(words);
        EXPECT_NE(error, "");
        EXPECT_EQ(error.find("hunter"), std::string::npos) << error;
    }
    std::ofstream(config_) << "net: {ssl: {PEMKeyPassword: [hunter2]}}\n";
    EXPECT_EQ(error_of({"--config", config_}).find(kValue), std::string::npos);
    std::ofstream(config_) << "net: {ssl: {PEMKeyPasswort: hunter2}}\n";
    EXPECT_EQ(error_of({"--config", config_}).find(kValue), std::string::npos);
}

}  // namespace
}  // namespace server
