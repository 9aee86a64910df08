#include "script/duktape/prelude.h"

namespace script {

// Helpers of the old shell that a server had, too.
const char* const kPreludeHelpers = R"JS(function (native, global) {
    function define(object, name, value) {
        Object.defineProperty(object, name, {value: value, writable: true, configurable: true});
    }
    function add(functions) {
        functions.forEach(function (made) { define(global, made.name, made); });
    }
    function print() {
        native.print(Array.prototype.map.call(arguments, function (x) {
            return String(x);
        }).join(' '));
    }
    function printjson(x) { print(tojson(x)); }
    function printjsononeline(x) { print(tojsononeline(x)); }
    function chatty(text) { print(text); }
    function version() { return native.version(); }
    function gc() {}
    function sleep(milliseconds) { native.sleep(milliseconds); }
    function hex_md5(text) { return native.md5(text); }
    function isNumber(x) { return typeof x == 'number'; }
    function isString(x) { return typeof x == 'string'; }
    function isObject(x) { return typeof x == 'object'; }
    function bsonWoCompare(a, b) { return native.compare(a, b); }
    function friendlyEqual(a, b) {
        if (a == b) return true;
        a = tojson(a);
        b = tojson(b);
        return a == b;
    }
    function sortDoc(x) {
        if (Array.isArray(x)) return x.map(sortDoc);
        if (!x || typeof x != 'object' || native.classNumber(x) % 11 || x instanceof Date)
            return x;
        var sorted = {};
        Object.keys(x).sort().forEach(function (name) { sorted[name] = sortDoc(x[name]); });
        return sorted;
    }
    function compare(a, b) { return a == b ? 0 : a < b ? -1 : 1; }
    function compareOn(field) {
        return function (a, b) { return compare(a[field], b[field]); };
    }
    function argumentsToArray(list) { return Array.prototype.slice.call(list); }
    function doassert(text) {
        throw new Error(typeof text == 'object' ? tojson(text) : text);
    }
    function printStackTrace() {
        try {
            throw new Error('Printing Stack Trace');
        } catch (e) {
            print(e.stack);
        }
    }
    function shellPrint(x) { print(tojson(x)); }
    function notHere(name) {
        return function () { throw new Error(name + ' is not for scripts of a server'); };
    }
    add([print, printjson, printjsononeline, chatty, version, gc, sleep, hex_md5, isNumber,
         isString, isObject, bsonWoCompare, friendlyEqual, sortDoc, compare, compareOn,
         argumentsToArray, doassert, printStackTrace, shellPrint]);
    ['help', 'rs', 'sh', 'connect', 'reconnect', 'DBCommandCursor', 'BulkWriteResult', 'PlanCache',
     'MapReduceResult', 'shellPrintHelper', 'shellAutocomplete', 'shellHelper'
    ].forEach(function (name) { define(global, name, notHere(name)); });
    define(global, '_verboseShell', false);
    define(global, '__lastres__', null);
    define(global, 'MR', {});

    function check(truth, text) {
        if (!truth) doassert('assert failed' + (text ? ' : ' + text : ''));
    }
    var assert = check;
    define(global, 'assert', assert);
    assert.automsg = function (code) { check(eval(code), code); };
    assert.eq = function (a, b, text) {
        if (a != b && !(a != null && b != null && friendlyEqual(a, b)))
            doassert('[' + tojson(a) + '] != [' + tojson(b) + '] are not equal' +
                     (text ? ' : ' + text : ''));
    };
    assert.neq = function (a, b, text) {
        if (a == b) doassert('[' + a + '] == [' + b + '] are equal' + (text ? ' : ' + text : ''));
    };
    assert.throws = function (call, args, text) {
        try {
            call.apply(null, args);
        } catch (e) {
            return e;
        }
        doassert('did not throw' + (text ? ' : ' + text : ''));
    };
    assert.doesNotThrow = assert.doesntThrow = function (call, args, text) {
        try {
            return call.apply(null, args);
        } catch (e) {
            doassert('threw: ' + e + (text ? ' : ' + text : ''));
        }
    };
    [['lt', function (a, b) { return a < b; }], ['gt', function (a, b) { return a > b; }],
     ['lte', function (a, b) { return a <= b; }], ['gte', function (a, b) { return a >= b; }]
    ].forEach(function (entry) {
        assert[entry[0]] = function (a, b, text) {
            if (!entry[1](a, b))
                doassert(a + ' is not ' + entry[0] + ' ' + b + (text ? ' : ' + text : ''));
        };
    });
    assert.isnull = function (x, text) {
        if (x != null) doassert('this is not null: ' + tojson(x) + (text ? ' : ' + text : ''));
    };
    assert.contains = function (x, list, text) {
        if (list.indexOf(x) < 0) doassert(tojson(x) + ' is not in ' + tojson(list));
    };
    assert.close = function (a, b, text, places) {
        if (Math.abs(a - b) > Math.pow(10, -(places === undefined ? 4 : places)))
            doassert(a + ' is not close to ' + b);
    };
    assert.soon = function (call, text) {
        while (!(typeof call == 'string' ? eval(call) : call())) sleep(200);
    };

    function functionsOf(object, functions) {
        Object.keys(functions).forEach(function (name) { define(object, name, functions[name]); });
    }
    functionsOf(Array, {
        sum: function (list) {
            if (list.length === 0) return null;
            var sum = list[0];
            for (var i = 1; i < list.length; ++i) sum += list[i];
            return sum;
        },
        avg: function (list) {
            return list.length === 0 ? null : Array.sum(list) / list.length;
        },
        stdDev: function (list) {
            var middle = Array.avg(list), sum = 0;
            for (var i = 0; i < list.length; ++i) sum += Math.pow(list[i] - middle, 2);
            return Math.sqrt(sum / list.length);
        },
        contains: function (list, x) { return list.indexOf(x) >= 0; },
        unique: function (list) {
            var kept = [];
            for (var i = 0; i < list.length; ++i)
                if (kept.indexOf(list[i]) < 0) kept.push(list[i]);
            return kept;
        },
        shuffle: function (list) {
            for (var i = list.length - 1; i > 0; --i) {
                var k = Random.randInt(i + 1), moved = list[i];
                list[i] = list[k];
                list[k] = moved;
            }
            return list;
        },
        fetchRefs: function (list, collection) {
            var found = [];
            for (var i = 0; i < list.length; ++i)
                if (!collection || list[i].getCollection() == collection)
                    found.push(list[i].fetch());
            return found;
        }
    });
    functionsOf(Object, {
        extend: function (to, from, deep) {
            for (var name in from) {
                var value = from[name];
                to[name] = deep && value && typeof value == 'object' &&
                    !native.classNumber(value) ? Object.extend(
                        Array.isArray(value) ? [] : {}, value, true) : value;
            }
            return to;
        },
        merge: function (a, b, deep) {
            var merged = {};
            Object.extend(merged, a, deep);
            Object.extend(merged, b, deep);
            return merged;
        },
        keySet: function (object) { return Object.keys(object); },
        bsonsize: function (object) { return native.size(object); }
    });
    // A text that is repeated so is the only use of a long array without elements.
    var join = Array.prototype.join;
    define(Array.prototype, 'join', function (separator) {
        if (!Array.isArray(this) || this.length < 1000 || Object.keys(this).length > 0)
            return join.call(this, separator);
        var part = separator === undefined ? ',' : String(separator), out = '';
        for (var left = this.length - 1; left > 0; left = Math.floor(left / 2)) {
            if (left % 2) out += part;
            if (left > 1) part += part;
        }
        return out;
    });
    function shown(object, functions) {
        Object.keys(functions).forEach(function (name) {
            delete object[name];
            object[name] = functions[name];
        });
    }
    shown(String.prototype, {
        ltrim: function () { return this.replace(/^\s+/, ''); },
        rtrim: function () { return this.replace(/\s+$/, ''); },
        startsWith: function (text) { return this.indexOf(text) == 0; },
        endsWith: function (text) {
            return this.length >= text.length && this.substr(this.length - text.length) == text;
        },
        pad: function (length, right, c) {
            var text = String(this);
            c = c || ' ';
            while (text.length < length) text = right ? text + c : c + text;
            return text;
        }
    });
    shown(Number.prototype, {
        toPercentStr: function () { return (this * 100).toFixed(2) + '%'; },
        zeroPad: function (width) { return ('' + this).pad(width, false, '0'); }
    });
    define(Math, 'sigFig', function (x, n) {
        if (!n) n = 3;
        return +x.toPrecision(n);
    });

    function Map() { this._data = {}; }
    Map.hash = function (x) {
        if (x === null || x === undefined || typeof x == 'string' || typeof x == 'number' ||
            typeof x == 'boolean')
            return String(x);
        return tojson(x);
    };
    Map.prototype.put = function (key, value) {
        var place = this._get(key), before = place.value;
        place.value = value;
        return before;
    };
    Map.prototype.get = function (key) { return this._get(key).value; };
    Map.prototype._get = function (key) {
        var name = Map.hash(key), list = this._data[name];
        if (!list) list = this._data[name] = [];
        for (var i = 0; i < list.length; ++i)
            if (friendlyEqual(key, list[i].key)) return list[i];
        list.push({key: key});
        return list[list.length - 1];
    };
    Map.prototype.values = function () {
        var all = [];
        for (var name in this._data)
            this._data[name].forEach(function (place) { all.push(place.value); });
        return all;
    };
    function Random() {}
    functionsOf(Random, {
        srand: function () {},
        setRandomSeed: function () {},
        rand: function () { return Math.random(); },
        randInt: function (n) { return Math.floor(Math.random() * n); },
        genExp: function (mean) { return -Math.log(Math.random()) * mean; }
    });
    add([Map, Random]);
    function part(point, n) {
        return Array.isArray(point) ? point[n] : point[Object.keys(point)[n]];
    }
    define(global, 'Geo', {
        distance: function (a, b) {
            return Math.sqrt(Math.pow(part(b, 0) - part(a, 0), 2) +
                             Math.pow(part(b, 1) - part(a, 1), 2));
        },
        sphereDistance: function (a, b) {
            function radians(point, n) { return part(point, n) * Math.PI / 180; }
            var ax = radians(a, 0), ay = radians(a, 1), bx = radians(b, 0), by = radians(b, 1);
            return Math.acos(Math.sin(ay) * Math.sin(by) +
                             Math.cos(ay) * Math.cos(by) * Math.cos(bx - ax));
        }
    });
})JS";

}  // namespace script
