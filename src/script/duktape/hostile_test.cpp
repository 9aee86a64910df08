// Scripts that try to bring a server down, to fill its memory, or never to end.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "script/duktape/context.h"
#include "script/duktape/testing/host.h"

namespace script {

namespace {

constexpr size_t kMemoryMax = size_t{24} * 1024 * 1024;

const std::vector<std::string> kHostile = {
    "while (true) {}",
    "for (;;) try { while (true) {} } catch (e) {}",
    "for (;;) try { throw 1 } finally { continue }",
    "function f() { return f() } return f()",
    "function f() { f(); f() } return f()",
    "var f = function () { try { f() } catch (e) { f() } }; f()",
    "var a = []; while (true) a.push(a)",
    "var a = []; while (true) a.push(new Array(1000))",
    "var s = 'x'; while (true) s += s",
    "var s = 'x'; for (;;) try { s += s } catch (e) {}",
    "var o = {}; for (var i = 0; ; ++i) o['k' + i] = i",
    "return new Array(4294967295).join('xxxxxxxx')",
    "return new Array(1e8).join('xxxxxxxx').length",
    "return Array.prototype.indexOf.call({length: 4294967295}, 1)",
    "var a = []; a.length = 4294967295; return a.reverse()",
    "var a = []; a.length = 4294967295; return a.sort()",
    "var a = []; a[4294967294] = 1; a.forEach(function () {})",
    "return [].concat(new Array(4294967295), new Array(4294967295))",
    "return new Array(4294967295).map(function (x) { return x })",
    "var a = []; a.length = 4294967295; a.splice(0, 1); return 1",
    "var a = []; a.length = 4294967295; a.unshift(1, 2, 3); return 1",
    "return Array.prototype.lastIndexOf.call({length: 1e15}, 1)",
    "return /(a*)*b/.test(new Array(40).join('a'))",
    "return /(a|aa)+$/.test(new Array(60).join('a') + 'b')",
    "return /^(([a-z])+.)+[A-Z]([a-z])+$/.test(new Array(100).join('a'))",
    "return new RegExp(new Array(30000).join('(')).test('a')",
    "return new RegExp(new Array(3000).join('(a*)*') + 'b').test(new Array(3000).join('a'))",
    "var a = new Array(1500000).join('a'); return (a + a).indexOf(a + 'b')",
    "var a = new Array(1500000).join('a'); return (a + a).lastIndexOf('b' + a)",
    "var a = new Array(1500000).join('a'); return (a + a).split(a + 'b').length",
    "var a = new Array(1500000).join('a'); return (a + a).replace(a + 'b', 'c').length",
    "var a = [1]; for (var i = 0; i < 64; ++i) a = [a, a]; return JSON.stringify(a)",
    "var a = [1]; for (var i = 0; i < 64; ++i) a = [a, a]; return tojson(a)",
    "var a = [1]; for (var i = 0; i < 64; ++i) a = [a, a]; return a",
    "var a = {}; a.a = a; return a",
    "var a = {}; a.a = a; return tojson(a)",
    "var a = []; for (var i = 0; i < 100000; ++i) a = [a]; return a",
    "return JSON.parse(new Array(100000).join('['))",
    "return eval(new Array(100000).join('('))",
    "return eval(new Array(100000).join('-') + '1')",
    "return eval('var a = ' + new Array(200000).join('[') + new Array(200000).join(']'))",
    "return new Function(new Array(100000).join('if (1) {'))()",
    "var o = {toString: function () { return this + '' }}; return o + ''",
    "var o = {valueOf: function () { return +this }}; return +o",
    "var o = {toJSON: function () { return this }}; return JSON.stringify(o)",
    "var o = {get a() { return this.a }}; return o.a",
    "Object.prototype.toString = function () { return this + '' }; throw {}",
    "Array.prototype.push = Array.prototype.join = function () { for (;;); }; return tojson([1])",
    "Object.defineProperty(Object.prototype, 'tojson', {get: function () { for (;;); }}); return "
    "tojson({})",
    "delete Object.prototype.constructor; Date.prototype = null; return {d: new Date(), r: /x/}",
    "Date.prototype.getTime = function () { return 'x' }; return {d: new Date(1)}",
    "return Object.create(Date.prototype)",
    "return [Object.create(RegExp.prototype), Object.create(ObjectId.prototype)]",
    "return [Object.create(BinData.prototype), Object.create(NumberLong.prototype)]",
    "var b = BinData(0, 'AAEC'); b.len = 1e9; b.type = 'x'; return [b]",
    "var o = ObjectId(); o.str = 'zz'; return [o]",
    "var t = Timestamp(1, 2); t.t = {}; t.i = -1; return [t]",
    "var n = NumberLong(1); n.top = 'x'; n.floatApprox = {}; return [n]",
    "return {'a\\0b': 1}",
    "return '\\ud800' + new Array(100).join('\\udc00')",
    "sleep(1e12)",
    "sleep(-1)",
    "return (1).toFixed(1e9)",
    "return String.fromCharCode.apply(null, new Array(1e7))",
    "return Math.max.apply(null, {length: 4294967295})",
    "return new Date(8.64e15 + 1).toISOString()",
    "return encodeURIComponent('\\ud800')",
    "return hex_md5({toString: function () { for (;;); }})",
    "return keepSource({}, function () {})",
    "this.__proto__ = null; return typeof tojson",
    "for (var k in this) delete this[k]; return tojson(1)",
    "Object.freeze(this); Object.freeze(Object.prototype); x = 1; return {a: [1]}",
    "a: for (;;) try { for (;;) try { throw 1 } finally { continue a } } finally { continue a }",
    "function f() { try { f() } finally { f() } } f()",
    "function f(n) { return n + f.apply(this, arguments) } return f(1)",
    "var f = function () { return f.call.apply(f, arguments) }; return f()",
    "var a = [3, 2, 1]; a.sort(function () { a.push(1); return 1 }); return a.length",
    "var a = [3, 2, 1]; a.sort(function () { a.length = 0; return -1 }); return a",
    "var a = [1]; a.forEach(function g() { a.push(1); a.forEach(g) })",
    "var a = [1]; for (var i = 0; i < a.length; ++i) a.splice(i, 0, a, a)",
    "var a = []; Object.defineProperty(a, 'length', {writable: false}); a.push(1)",
    "return JSON.stringify({a: 1}, function (k, v) { return {a: v} })",
    "return JSON.parse('[[1]]', function (k, v) { for (;;); })",
    "return JSON.stringify([1], null, new Array(1e8).join(' '))",
    "return 'aaaa'.replace(/a/g, function () { for (;;); })",
    "var r = /a/g; while (r.exec('aaa') || true) r.lastIndex = 0",
    "return new Array(1e6).join('ab').replace(/a/g, new Array(1e4).join('$&'))",
    "return new Array(1e6).join('a,').split(',').map(function (x) { return new Array(1e3) })",
    "return /^(?:(?:a?){50}){50}$/.test(new Array(60).join('a') + 'b')",
    "return /((((a{0,30}){0,30}){0,30}){0,30})b/.test(new Array(40).join('a'))",
    "return /(?=(a+))*b/.test(new Array(50).join('a'))",
    "throw {toString: function () { for (;;); }}",
    "var e = new Error('x'); Object.defineProperty(e, 'message', {get: function () { throw e }}); "
    "throw e",
    "Error.prototype.toString = function () { throw this }; null.x",
    "with ({get x() { for (;;); }}) return x",
    "Object.defineProperty(this, 'obj', {get: function () { for (;;); }}); return obj",
    "return {get _id() { return new Array(1e8).join('x') }}",
    "var o = {}; for (var i = 0; i < 1e5; ++i) o = Object.create(o); return o.x",
    "var o = {}, p = Object.create(o); o.__proto__ = p; return p.x",
    "var f = new Function('return ' + new Array(1e5).join('(function () { return ') + '1'); f()",
    "for (var i = 0, s = ''; ; ++i) try { eval(s += 'var v' + i + ' = ' + i + ';') } catch (e) {}",
    "for (;;) try { emit(1, new Array(1e7).join('x')) } catch (e) {}",
    "for (;;) try { print(new Array(1e6).join('x')) } catch (e) {}",
    "while (true) new Date().toString() + tojson(ObjectId())",
    "for (var a = [], i = 0; i < 3e5; ++i) a.push(i); for (;;) a.reverse()",
    "for (var a = [], i = 0; i < 3e5; ++i) a.push(i); for (;;) a.splice(1, 1, a.indexOf(-1))",
    "for (var a = [], i = 0; i < 3e5; ++i) a.push(i); for (;;) { a.shift(); a.unshift(1) }",
    "for (var a = '\u00e9', i = 0; i < 20; ++i) a += a; for (;;) a.charCodeAt(a.length / 2)",
    "var a = new Array(4e6).join('a'), b = new Array(4000).join('a') + 'b'; for (;;) a.indexOf(b)",
    "for (var a = new Array(2e6).join('a'); ;) a.toUpperCase() == a.substring(1)",
};

}  // namespace

TEST(HostileScripts, EachEndsWithAValueOrAnError) {
    for (const std::string& code : kHostile) {
        TestHost host;
        host.limit_ticks(2'000'000);
        {
            const auto context = open_duktape(host.host(), kMemoryMax);
            try {
                const int function = context->compile("function () { " + code + "\n}");
                const uint8_t none[] = {5, 0, 0, 0, 0};
                context->call(function, none, Context::Result::field);
            } catch (const base::Error&) {
            } catch (const std::bad_alloc&) {
            }
            EXPECT_LE(host.most_held(), kMemoryMax + 1024 * 1024) << code;
        }
        EXPECT_EQ(host.held(), 0u) << code;
    }
}

// What was ended stays so: nothing of it runs again.
TEST(HostileScripts, AContextWhoseTimeIsOverDoesNothingMore) {
    TestHost host;
    const auto context = open_duktape(host.host(), kMemoryMax);
    host.limit_ticks(100'000);
    const uint8_t none[] = {5, 0, 0, 0, 0};
    const int endless =
        context->compile("function () { for (;;) try { while (true) {} } catch (e) {} }");
    EXPECT_EQ(error_code([&] { context->call(endless, none, Context::Result::field); }),
              base::kExceededTimeLimit);
    host.limit_ticks(1'000'000);
    EXPECT_EQ(error_code([&] { context->compile("1"); }), kScriptError);
}

TEST(HostileScripts, AContextWhoseTimeIsOverBeforeItIsMadeSaysSo) {
    for (const int64_t ticks : {1, 10, 100, 1000}) {
        TestHost host;
        host.limit_ticks(ticks);
        EXPECT_EQ(error_code([&] { open_duktape(host.host(), kMemoryMax); }),
                  base::kExceededTimeLimit)
            << ticks;
        EXPECT_EQ(host.held(), 0u);
    }
}

// The limit of one context is none of another.
TEST(HostileScripts, MemoryIsThatOfAContext) {
    TestHost host;
    const auto full = open_duktape(host.host(), kMemoryMax);
    const auto other = open_duktape(host.host(), kMemoryMax);
    const uint8_t none[] = {5, 0, 0, 0, 0};
    const int fill =
        full->compile("function () { var a = []; while (true) a.push('' + Math.random()) }");
    EXPECT_EQ(error_code([&] { full->call(fill, none, Context::Result::field); }), kScriptError);
    const int make = other->compile("return new Array(1000).join('x')");
    EXPECT_GT(other->call(make, none, Context::Result::field).size(), 999u);
}

}  // namespace script
