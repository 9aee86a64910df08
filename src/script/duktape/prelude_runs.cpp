#include "script/duktape/prelude.h"

namespace script {

// The engine's own functions for group, and for mapReduce in jsMode: their values stay objects of
// scripts from one document to the next. Functions come as numbers (Context::compile()).
const char* const kPreludeRuns = R"JS(function (native, global) {
    var groups;
    native.keep('groupBegin', function () { groups = []; });
    native.keep('groupAdd', function (key, initial) {
        var group = {}, name;
        for (name in key) group[name] = key[name];
        for (name in initial) group[name] = initial[name];
        groups.push(group);
    });
    native.keep('groupStep', function (reduce, number, document) {
        native.functionOf(reduce)(document, groups[number]);
    });
    native.keep('groupEnd', function (finalize) {
        if (finalize === null) return groups;
        finalize = native.functionOf(finalize);
        return groups.map(function (group) {
            var result = finalize(group);
            return result === undefined || result === null ? group : result;
        });
    });

    var values, keys, emits, doubles, reductions, reduce;
    native.keep('jsBegin', function (number) {
        values = Object.create(null);
        keys = emits = doubles = reductions = 0;
        reduce = native.functionOf(number);
        var emitPair = global.emit;
        global.emit = function emit(key, value) {
            if (arguments.length != 2) throw new Error('emit takes a key and a value');
            native.requireMap();
            if (typeof key == 'object') {
                // It would be no name of a property: from here on values are not kept here.
                global.emit = emitPair;
                for (var name in values)
                    values[name].forEach(function (kept) { emitPair(name, kept); });
                values = {};
                return emitPair(key, value);
            }
            ++emits;
            var list = values[key];
            if (list) {
                list.push(value);
                ++doubles;
            } else {
                values[key] = [value];
                ++keys;
            }
        };
    });
    function reduceAll() {
        for (var key in values) {
            if (values[key].length < 2) continue;
            ++reductions;
            values[key] = [reduce(key, values[key])];
        }
        doubles = 0;
    }
    native.keep('jsStep', function () {
        if (doubles > keys * 10) reduceAll();
    });
    native.keep('jsEnd', function (finalize) {
        var results = [];
        if (finalize !== null) finalize = native.functionOf(finalize);
        for (var key in values) {
            var value = values[key];
            if (value.length > 1) {
                ++reductions;
                value = reduce(key, value);
            } else if (finalize !== null) {
                value = value[0];
            }
            results.push({_id: key, value: finalize === null ? value : finalize(key, value)});
        }
        return {results: results, emits: emits, reductions: reductions};
    });
})JS";

}  // namespace script
