#include "script/duktape/context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "script/duktape/source.h"
#include "script/duktape/testing/host.h"

namespace script {

namespace {

class Contexts : public testing::Test {
  protected:
    Contexts() : context_(open_duktape(host_.host(), size_t{64} * 1024 * 1024)) {}

    // The value of an expression, or "error N".
    std::string value_of(const std::string& code, bson::Doc arguments = {}) {
        try {
            const int function = context_->compile(code);
            const std::string result =
                context_->call(function, arguments.data(), Context::Result::field);
            return bson::to_text(bson::Doc(result.data()));
        } catch (const base::Error& e) {
            return fmt::format("error {}", e.code());
        }
    }
    // What a function makes of a document that it is given.
    std::string passed_through(bson::Doc doc, const std::string& body) {
        return value_of("function (d) { " + body + " }", bson::make("0", doc));
    }

    TestHost host_;
    const std::unique_ptr<Context> context_;
};

struct Kept : Emitted {
    std::vector<std::string> pairs;
    void take(const uint8_t* pair) override { pairs.push_back(bson::to_text(bson::Doc(pair))); }
};

}  // namespace

TEST_F(Contexts, FormsOfCode) {
    EXPECT_EQ(value_of("1 + 1"), "{ : 2.0 }");
    EXPECT_EQ(value_of("return 3;"), "{ : 3.0 }");
    EXPECT_EQ(value_of("  function () { return 4 }"), "{ : 4.0 }");
    EXPECT_EQ(value_of("function () { return 5 } what comes behind it"), "{ : 5.0 }");
    EXPECT_EQ(value_of("function () { return '}' } }"), "{ : \"}\" }");
    EXPECT_EQ(value_of("var x = 1"), "error 16722");
    EXPECT_EQ(value_of("return ("), "error 16722");
    EXPECT_EQ(value_of("functional"), "error 16722");
    EXPECT_EQ(value_of("1 +\n1"), "{ : undefined }");
    for (const char* name : {"this.returned", "this.$return", "this.no_return", "this.return1"})
        EXPECT_EQ(value_of(std::string("typeof ") + name), "{ : \"undefined\" }") << name;
    EXPECT_EQ(value_of("if (true){return(3)}"), "{ : 3.0 }");
    EXPECT_EQ(value_of("var returned = 4; return returned"), "{ : 4.0 }");
}

TEST_F(Contexts, DocumentsKeepOrderAndTypesWhereTheyAreLeftAlone) {
    bson::Builder made;
    made.append("b", int32_t{1}).append("10", int64_t{2}).append("2", 3.5).append("a", int32_t{4});
    const bson::Object doc = made.object();
    const std::string text = bson::to_text(doc);
    EXPECT_EQ(passed_through(doc, "return d"), "{ : " + text + " }");
    EXPECT_EQ(passed_through(doc, "d.b = 7; return d"), "{ : { b: 7, 10: 2, 2: 3.5, a: 4 } }");
    EXPECT_EQ(passed_through(doc, "d.b = 0.5; d.z = 1; delete d.a; return d"),
              "{ : { b: 0.5, 10: 2, 2: 3.5, z: 1.0 } }");
    EXPECT_EQ(passed_through(doc, "return Object.keys(d).join()"), "{ : \"b,10,2,a\" }");
}

// Each level that wrote its own twice would make the time double with each level.
TEST_F(Contexts, ADocumentOfManyLevelsIsWrittenWhereItsEndHasChanged) {
    constexpr int kLevels = 80;
    bson::Object doc = bson::make("n", int32_t{1}, "x", "");
    for (int i = 0; i < kLevels; ++i)
        doc = bson::make("n", int32_t{1}, "x", doc.doc());
    const std::string changed =
        passed_through(doc, "for (var e = d; e.x; e = e.x) {} e.x = 'new'; return d");
    std::string wanted = bson::to_text(doc);
    wanted.replace(wanted.find("x: \"\""), 5, "x: \"new\"");
    EXPECT_EQ(changed, "{ : " + wanted + " }");
}

TEST_F(Contexts, NumbersOfClassesMayBeAnything) {
    EXPECT_EQ(value_of("var l = NumberLong(1); l.top = 1e300; l.bottom = -1e300; return l"),
              "{ : -4294967296 }");
    EXPECT_EQ(value_of("var t = Timestamp(1, 2); t.t = NaN; t.i = -1; return t"),
              "{ : Timestamp 0|4294967295 }");
}

TEST_F(Contexts, ValuesOfClasses) {
    EXPECT_EQ(value_of("[NumberLong('9007199254740993'), NumberInt(7)]"),
              "{ : [ 9007199254740993, 7 ] }");
    EXPECT_EQ(value_of("'' + NumberLong(5) + NumberLong('3000000000')"), "{ : \"53000000000\" }");
    EXPECT_EQ(value_of("String(NumberLong('3000000000'))"), "{ : \"NumberLong(\"3000000000\")\" }");
    EXPECT_EQ(value_of("tojson(BinData(3, 'AAEC'))"), "{ : \"BinData(3,\"AAEC\")\" }");
    EXPECT_EQ(value_of("HexData(0, '0102ff').base64() + HexData(0, '01').base64()"),
              "{ : \"AQL/AQ==\" }");
    EXPECT_EQ(value_of("BinData(0, 'A!==')"), "error 16722");
    EXPECT_EQ(value_of("'' + new Date(0)"), "{ : \"Thu Jan 01 1970 00:00:00 GMT+0000 (UTC)\" }");
    EXPECT_EQ(value_of("hex_md5('a')"), "{ : \"0cc175b9c0f1b6a831c399e269772661\" }");
}

TEST_F(Contexts, TextsAreUtf8AndOfTwoUnitsAboveIt) {
    const bson::Object doc = bson::make("s", "\xf0\x9f\x98\x80 \xc3\xa9");
    EXPECT_EQ(passed_through(doc, "return d.s.length"), "{ : 4.0 }");
    EXPECT_EQ(passed_through(doc, "return d"), "{ : " + bson::to_text(doc) + " }");
    EXPECT_EQ(passed_through(doc, "return d.s.charAt(0) + 'x'"), "{ : \"\xef\xbf\xbdx\" }");
    // No text of a document is a name that scripts cannot see.
    const bson::Object hidden = bson::make(
        "\xff"
        "class",
        3, "\x80x", 1);
    EXPECT_EQ(passed_through(hidden, "return Object.keys(d).length"), "{ : 2.0 }");
    EXPECT_EQ(passed_through(hidden, "return Object.prototype.toString.call(d)"),
              "{ : \"[object Object]\" }");
}

TEST_F(Contexts, MapsCollectWhatTheyEmit) {
    Kept kept;
    context_->collect(&kept);
    const int map = context_->compile("function () { emit(this.a, obj.b); emit(undefined, this) }");
    context_->visit(map, bson::make("a", 1, "b", "x").doc().data());
    EXPECT_EQ(kept.pairs, (std::vector<std::string>{"{ 0: 1.0, 1: \"x\" }",
                                                    "{ 0: null, 1: { a: 1, b: \"x\" } }"}));
    const int reduce = context_->compile("function () { emit(1, 2) }");
    EXPECT_EQ(
        error_code([&] { context_->call(reduce, bson::Doc().data(), Context::Result::fields); }),
        kScriptError)
        << "it is no map";
    EXPECT_EQ(value_of("typeof emit"), "{ : \"function\" }") << "it is there all the same";
    EXPECT_EQ(kept.pairs.size(), 2u);
    const int wrong = context_->compile("emit(1)");
    EXPECT_EQ(error_code([&] { context_->visit(wrong, bson::Doc().data()); }), kScriptError);
}

TEST_F(Contexts, NothingOfTheMachineIsThere) {
    for (const char* name :
         {"db", "load", "cat", "ls", "run", "quit", "require", "process", "console", "Duktape",
          "Proxy", "Reflect", "Buffer", "Uint8Array", "Symbol", "performance", "native"})
        EXPECT_EQ(value_of(std::string("typeof ") + name), "{ : \"undefined\" }") << name;
    EXPECT_EQ(value_of("new Mongo('other:27017')"), "error 16722");
}

TEST_F(Contexts, StoredFunctionsAreGlobalsAndBrokenOnesAreLeftOut) {
    bson::Builder stored;
    stored.append_code("good", "function (x) { return x + 1 }");
    stored.append_code("bad", "function (").append("number", int32_t{5});
    const bson::Object held = stored.object();
    for (const bson::Element& e : held.doc())
        context_->define_stored(e.name(), e.raw());
    EXPECT_EQ(value_of("good(number)"), "{ : 6.0 }");
    EXPECT_EQ(value_of("typeof bad"), "{ : \"undefined\" }");
}

TEST(Sources, DeepFunctionsAreLeftAlone) {
    std::string code;
    for (int i = 0; i < 100'000; ++i)
        code += "function(){";
    EXPECT_LT(with_sources(code).size(), 100 * code.size());
    code = "x = ";
    for (int i = 0; i < 10'000; ++i)
        code += "function(){ return ";
    EXPECT_LT(with_sources(code).size(), 100 * code.size());
}

TEST(Sources, FunctionsAreGivenTheirTexts) {
    EXPECT_EQ(with_sources("f(function (a) { return /}/.test(a) })"),
              "f(keepSource(\"function (a) { return /}/.test(a) }\","
              "function (a) { return /}/.test(a) }))");
    EXPECT_EQ(with_sources("function f() { }"),
              "function f() { };keepSource(\"function f() { }\",f);");
    EXPECT_EQ(with_sources("a.function; '{function'; a / b / function_"),
              "a.function; '{function'; a / b / function_");
    EXPECT_EQ(with_sources("x = { k: function () { '}' /* } */ } }"),
              "x = { k: keepSource(\"function () { '}' /* } */ }\","
              "function () { '}' /* } */ }) }");
}

}  // namespace script
