// The words of texts and what they count. The stems and stop words come from text.so, which stands
// beside this program; the recorded answers of tests/oracle/text.jsonl.xz hold all of it to 2.6.

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "text/hash.h"
#include "text/search.h"
#include "text/term_scores.h"
#include "text/terms.h"

namespace text {
namespace {

using bson::make;

bson::Object definition(bson::Object key, bson::Object options = {}) {
    bson::Builder out;
    out.append("key", key).append("name", "n").append_all(options);
    return stored_form(out.doc());
}

std::map<std::string, double> terms_of(const bson::Object& spec, const bson::Object& doc) {
    const Spec read(spec);
    const Scores scores = scores_of(read, doc, folding_of(read.version));
    return {scores.begin(), scores.end()};
}

std::map<std::string, double> terms_of(const bson::Object& spec, std::string_view text) {
    return terms_of(spec, make("a", std::string(text)));
}

const bson::Object kOfA = make("a", "text");

int code_of(bson::Object key, bson::Object options = {}) {
    try {
        definition(std::move(key), std::move(options));
        return 0;
    } catch (const base::Error& e) {
        return e.code();
    }
}

TEST(TextSpec, IsStoredInTheFormOf26) {
    EXPECT_EQ(
        bson::to_text(definition(make("p", 1, "b", "text", "a", "text", "s", -1))),
        "{ key: { p: 1, _fts: \"text\", _ftsx: 1, s: -1 }, name: \"n\", weights: { a: 1, b: 1 "
        "}, default_language: \"english\", language_override: \"language\", "
        "textIndexVersion: 2 }");
    const bson::Object once = definition(kOfA, make("weights", make("b", 3.7)));
    EXPECT_EQ(bson::to_text(once["weights"].as_doc()), "{ a: 1, b: 3 }");
    EXPECT_EQ(bson::to_text(stored_form(once)), bson::to_text(once));
}

TEST(TextSpec, RefusesWhatCannotBe) {
    EXPECT_EQ(code_of(kOfA, make("weights", make("a", 0))), 16674);
    EXPECT_EQ(code_of(kOfA, make("weights", make("a", 100000))), 16674);
    EXPECT_EQ(code_of(kOfA, make("weights", make("a", "x"))), 17283);
    EXPECT_EQ(code_of(kOfA, make("weights", 5)), 17284);
    EXPECT_EQ(code_of(kOfA, make("weights", make("d.", 2))), 17291);
    EXPECT_EQ(code_of(kOfA, make("weights", make("$x", 2))), 17292);
    EXPECT_EQ(code_of(kOfA, make("default_language", "klingon")), 17264);
    EXPECT_EQ(code_of(kOfA, make("language_override", "l.x")), 17136);
    EXPECT_EQ(code_of(kOfA, make("textIndexVersion", 4)), 16730);
    EXPECT_EQ(code_of(make("a", "text", "p", 1, "b", "text")), 17389);
    EXPECT_EQ(code_of(make("_fts", "text", "_ftsx", 1)), 16739);
    EXPECT_EQ(code_of(make("_fts", "text")), 17288);
    EXPECT_EQ(code_of(make("_fts", 1, "a", "text")), 17271);
    EXPECT_EQ(code_of(make("_ftsx", 1, "a", "text")), 17289);
    EXPECT_EQ(code_of(make("p", "hashed", "a", "text")), base::kCannotCreateIndex);
}

TEST(TextTerms, AreStemsWithScores) {
    const bson::Object spec = definition(kOfA);
    EXPECT_EQ(terms_of(spec, "quick foxes"),
              (std::map<std::string, double>{{"fox", 0.75}, {"quick", 0.75}}));
    EXPECT_EQ(terms_of(spec, "stone river river river the the"),
              (std::map<std::string, double>{{"river", 1.53125}, {"stone", 0.625}}));
    EXPECT_EQ(terms_of(spec, "stone"), (std::map<std::string, double>{{"stone", 1.1}}));
    EXPECT_EQ(terms_of(spec, "The THE the"), (std::map<std::string, double>{}));
    EXPECT_EQ(terms_of(spec, bson::parse_test_json(R"({"a": ["alpha", "alpha"]})")),
              (std::map<std::string, double>{{"alpha", 2.2}}));
}

TEST(TextTerms, OfEachLanguage) {
    const bson::Object spec = definition(kOfA);
    EXPECT_EQ(terms_of(spec, make("language", "es", "a", "los niños corriendo")),
              (std::map<std::string, double>{{"corr", 0.75}, {"niñ", 0.75}}));
    EXPECT_EQ(terms_of(spec, make("language", "none", "a", "the running")),
              (std::map<std::string, double>{{"running", 0.75}, {"the", 0.75}}));
    try {
        terms_of(spec, make("language", "klingon", "a", "x"));
        ADD_FAILURE();
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 17262);
    }
    const bson::Object v1 = definition(kOfA, make("textIndexVersion", 1));
    EXPECT_EQ(terms_of(v1, make("language", "klingon", "a", "running")),
              (std::map<std::string, double>{{"running", 1.1}}));
}

TEST(TextTerms, TheWildcardGoesEverywhere) {
    const bson::Object spec = definition(make("$**", "text"), make("weights", make("c", 5)));
    const auto terms =
        terms_of(spec, bson::parse_test_json(R"({"a": "stone", "d": {"e": ["river"]}, "n": 5})"));
    // A field without a weight takes that of the next name, as it did in 2.6.
    EXPECT_EQ(terms, (std::map<std::string, double>{{"stone", 5.5}, {"river", 1.1}}));
}

TEST(TextTerms, LongOnesEndInAHash) {
    EXPECT_EQ(hash_in_hex(std::string(40, 'x')), "614c91ddc1430749e2bf9e929d097b6b");
    const auto terms = terms_of(definition(kOfA), std::string(40, 'x'));
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms.begin()->first, std::string(32, 'x') + "614c91ddc1430749e2bf9e929d097b6b");
}

TEST(TextTerms, Version3TakesLetters) {
    const bson::Object spec = definition(kOfA, make("textIndexVersion", 3));
    const auto terms = terms_of(spec, "CAFÉ “Ärger”");
    EXPECT_TRUE(terms.contains("cafe"));
    EXPECT_TRUE(terms.contains("arger"));
}

struct Found {
    bool found;
    double score;
};
Found search(std::string_view asked, std::string_view text, Folding folding = {}, int version = 2) {
    Request request;
    request.search = asked;
    request.folding = folding;
    const auto spec =
        std::make_shared<const Spec>(definition(kOfA, make("textIndexVersion", version)));
    Found result{};
    result.found = Search(spec, request).matches(make("a", std::string(text)), &result.score);
    return result;
}

TEST(TextSearch, WordsPhrasesAndNegations) {
    constexpr std::string_view kDog = "The quick brown fox jumps over the lazy dog";
    EXPECT_TRUE(search("FOXES", kDog).found);
    EXPECT_TRUE(search("zebra fox", kDog).found);
    EXPECT_FALSE(search("zebra", kDog).found);
    EXPECT_FALSE(search("fox -dog", kDog).found);
    EXPECT_TRUE(search("fox-dog", kDog).found);
    EXPECT_FALSE(search("fox - dog", kDog).found);
    EXPECT_TRUE(search("\"QUICK brown\"", kDog).found);
    EXPECT_FALSE(search("\"brown quick\"", kDog).found);
    EXPECT_FALSE(search("fox -\"lazy dog\"", kDog).found);
    EXPECT_TRUE(search("\"fox", kDog).found);
    EXPECT_FALSE(search("the", kDog).found);
    EXPECT_FALSE(search("-zebra", kDog).found);
    EXPECT_FALSE(search("\"ick bro\"", kDog).found);
    EXPECT_EQ(search("fox fox", "fox").score, 2.2);
}

// A search goes through many documents, and remembers words.
TEST(TextSearch, CountsWhatTheKeysSay) {
    for (const int version : {1, 2, 3}) {
        const Spec spec(definition(kOfA, make("textIndexVersion", version)));
        const auto shared = std::make_shared<const Spec>(spec);
        const std::string term = "fox", whole = "lynx";
        TermScores some(shared, folding_of(spec.version), {term, whole, term});
        for (int round = 0; round < 2; ++round) {
            for (const std::string_view text :
                 {"fox", "Foxes and a lynx, the fox", "lynx", "lynx lynx", "the", "", "zebra"}) {
                for (const char* language : {"english", "german", "none"}) {
                    const bson::Object doc =
                        make("a", std::string(text), "language", std::string(language));
                    Scores all = scores_of(spec, doc, folding_of(spec.version));
                    some.read(doc);
                    EXPECT_EQ(some.of(term), all[term]) << text << " " << language;
                    EXPECT_EQ(some.of(whole), all[whole]) << text << " " << language;
                    EXPECT_EQ(some.of("zebra"), 0);
                }
            }
        }
    }
}

TEST(TextSearch, MayMindLetters) {
    EXPECT_TRUE(search("Cafe", "café", {}, 3).found);
    EXPECT_FALSE(search("Cafe", "café", {.diacritic_sensitive = true}, 3).found);
    EXPECT_FALSE(search("Fox", "fox", {.case_sensitive = true}).found);
    EXPECT_TRUE(search("Fox", "a Fox", {.case_sensitive = true}).found);
    EXPECT_FALSE(search("cafe", "café").found);
}

}  // namespace
}  // namespace text
