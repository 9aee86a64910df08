#include "script/duktape/prelude.h"

namespace script {

// Classes, their numbers as in values.h, and what differs from the engine's own globals.
const char* const kPreludeTypes = R"JS(function (native, global) {
    var makeProxy = global.Proxy;
    function define(object, name, value) {
        Object.defineProperty(object, name,
                              {value: value, writable: true, configurable: true});
    }
    function addClass(name, number, make) {
        define(make.prototype, 'constructor', make);
        native.register(make.prototype, number);
        if (name) define(global, name, make);
        return make;
    }
    // The function of a class, called with or without new.
    function blank(object, make) {
        return object instanceof make ? object : Object.create(make.prototype);
    }
    // What a for-in loop over an object of the class sees, in this order.
    function show(make, names) {
        names.forEach(function (name) {
            var method = make.prototype[name];
            delete make.prototype[name];
            make.prototype[name] = method;
        });
    }

    var classes = ['', 'NumberLong', 'NumberInt', 'ObjectId', 'BinData', 'Timestamp', 'MinKey',
                   'MaxKey', 'DBRef', 'DBPointer', 'NumberDecimal', ''];

    function NumberLong(a, b, c) {
        var made;
        if (arguments.length > 1) {
            if (typeof a != 'number' || typeof b != 'number' || typeof c != 'number')
                throw new Error('NumberLong takes a number or a text, or three numbers');
            made = blank(this, NumberLong);
            made.floatApprox = a;
            made.top = b;
            made.bottom = c;
            return made;
        }
        if (typeof a == 'string') return native.long(a);
        if (a !== undefined && typeof a != 'number' && !(a instanceof NumberLong))
            throw new Error('NumberLong takes a number or a text');
        if (a instanceof NumberLong) return native.long(native.digits(a));
        var number = a === undefined ? 0 : a;
        if (number < 0 || number >= 9007199254740992)
            return native.long(number >= 9223372036854775807 ? '9223372036854775807' :
                               number <= -9223372036854775808 ? '-9223372036854775808' :
                               digitsOf(number));
        made = blank(this, NumberLong);
        made.floatApprox = number;
        return made;
    }
    function digitsOf(number) {
        return native.digits({floatApprox: number < 0 ? Math.ceil(number) : Math.floor(number)});
    }
    addClass('NumberLong', 1, NumberLong);
    define(NumberLong.prototype, 'toNumber', function () {
        return this.top === undefined ? this.floatApprox :
            this.top * 4294967296 + (this.bottom >>> 0);
    });
    define(NumberLong.prototype, 'valueOf', NumberLong.prototype.toNumber);
    define(NumberLong.prototype, 'toString', function () {
        var digits = native.digits(this), number = +digits;
        return number >= -2147483648 && number <= 2147483647 ?
            'NumberLong(' + digits + ')' : 'NumberLong("' + digits + '")';
    });
    define(NumberLong.prototype, 'tojson', NumberLong.prototype.toString);

    function NumberInt(a) {
        var made = blank(this, NumberInt);
        native.hide(made, (a === undefined ? 0 : +a) | 0);
        return made;
    }
    addClass('NumberInt', 2, NumberInt);
    define(NumberInt.prototype, 'toNumber', function () { return native.hidden(this); });
    define(NumberInt.prototype, 'valueOf', NumberInt.prototype.toNumber);
    define(NumberInt.prototype, 'toString', function () {
        return 'NumberInt(' + native.hidden(this) + ')';
    });
    define(NumberInt.prototype, 'tojson', NumberInt.prototype.toString);

    var counter = native.random() % 16777216, machine = hexOf(native.random(), 8) + '0001';
    function hexOf(number, digits) {
        var text = number.toString(16);
        while (text.length < digits) text = '0' + text;
        return text.substr(text.length - digits);
    }
    function ObjectId(text) {
        var made = blank(this, ObjectId);
        if (text === undefined) {
            counter = (counter + 1) % 16777216;
            text = hexOf(Math.floor(Date.now() / 1000), 8) + hexOf(parseInt(machine, 16), 10) +
                hexOf(counter, 6);
        } else if (!/^[0-9a-fA-F]{24}$/.test(text)) {
            throw new Error('an ObjectId has 24 hexadecimal digits');
        }
        made.str = String(text).toLowerCase();
        return made;
    }
    addClass('ObjectId', 3, ObjectId);
    define(ObjectId.prototype, 'valueOf', function () { return this.str; });
    define(ObjectId.prototype, 'toString', function () { return 'ObjectId("' + this.str + '")'; });
    define(ObjectId.prototype, 'tojson', ObjectId.prototype.toString);
    define(ObjectId.prototype, 'isObjectId', true);
    define(ObjectId.prototype, 'getTimestamp', function () {
        return new Date(parseInt(this.str.substr(0, 8), 16) * 1000);
    });
    define(ObjectId.prototype, 'equals', function (other) { return this.str == other.str; });

    function BinData(type, text) {
        var made = blank(this, BinData);
        if (arguments.length != 2 || typeof type != 'number' || type < 0 || type > 255)
            throw new Error('BinData takes a type from 0 to 255 and a text');
        made.len = native.decode(made, String(text));
        made.type = type;
        return made;
    }
    addClass('BinData', 4, BinData);
    define(BinData.prototype, 'length', function () { return this.len; });
    define(BinData.prototype, 'subtype', function () { return this.type; });
    define(BinData.prototype, 'hex', function () { return native.encode(this, 16); });
    define(BinData.prototype, 'base64', function () { return native.encode(this, 64); });
    define(BinData.prototype, 'toString', function () {
        return 'BinData(' + this.type + ',"' + native.encode(this, 64) + '")';
    });
    define(BinData.prototype, 'tojson', BinData.prototype.toString);
    function fromHex(type, text) {
        text = String(text);
        if (!/^([0-9a-fA-F][0-9a-fA-F])*$/.test(text))
            throw new Error('this is no text of hexadecimal digits');
        var digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
        var out = '';
        for (var i = 0; i < text.length; i += 6) {
            var part = text.substr(i, 6), bits = parseInt((part + '0000').substr(0, 6), 16);
            for (var k = 0; k < 4; ++k)
                out += k <= part.length / 2 ? digits.charAt(bits >> (18 - 6 * k) & 63) : '=';
        }
        return new BinData(type, out);
    }
    define(global, 'HexData', function HexData(type, text) { return fromHex(type, text); });
    define(global, 'UUID', function UUID(text) {
        if (String(text).replace(/-/g, '').length != 32)
            throw new Error('a UUID has 32 hexadecimal digits');
        return fromHex(3, String(text).replace(/-/g, ''));
    });
    define(global, 'MD5', function MD5(text) {
        if (String(text).length != 32) throw new Error('an MD5 has 32 hexadecimal digits');
        return fromHex(5, text);
    });

    function Timestamp(seconds, more) {
        var made = blank(this, Timestamp);
        if (arguments.length != 0 && arguments.length != 2)
            throw new Error('Timestamp takes seconds and a counter');
        if (arguments.length == 2 && !(seconds >= 0 && seconds <= 2147483647))
            throw new Error('the seconds of a Timestamp are from 0 to 2147483647');
        made.t = arguments.length ? +seconds : 0;
        made.i = arguments.length ? +more : 0;
        return made;
    }
    addClass('Timestamp', 5, Timestamp);
    define(Timestamp.prototype, 'getTime', function () { return this.t; });
    define(Timestamp.prototype, 'getInc', function () { return this.i; });
    define(Timestamp.prototype, 'toString', function () {
        return 'Timestamp(' + this.t + ', ' + this.i + ')';
    });
    define(Timestamp.prototype, 'tojson', Timestamp.prototype.toString);

    function MinKey() {}
    function MaxKey() {}
    addClass('', 6, MinKey);
    addClass('', 7, MaxKey);
    define(MinKey.prototype, 'tojson', function () { return '{ "$minKey" : 1 }'; });
    define(MaxKey.prototype, 'tojson', function () { return '{ "$maxKey" : 1 }'; });
    define(global, 'MinKey', new MinKey());
    define(global, 'MaxKey', new MaxKey());
    native.keep('MinKey', global.MinKey);
    native.keep('MaxKey', global.MaxKey);

    function DBRef(collection, id) {
        var made = blank(this, DBRef);
        if (arguments.length != 2) throw new Error('DBRef takes a collection and an id');
        if (typeof collection != 'string') throw new Error('the collection of a DBRef is a text');
        made.$ref = collection;
        made.$id = id;
        return made;
    }
    addClass('DBRef', 8, DBRef);
    define(DBRef.prototype, 'getCollection', function () { return this.$ref; });
    define(DBRef.prototype, 'getRef', function () { return this.$ref; });
    define(DBRef.prototype, 'getId', function () { return this.$id; });
    define(DBRef.prototype, 'getDb', function () { return this.$db; });
    define(DBRef.prototype, 'fetch', function () {
        return (this.$db ? global.db.getSiblingDB(this.$db) : global.db)
            .getCollection(this.$ref).findOne({_id: this.$id});
    });
    define(DBRef.prototype, 'toString', function () {
        return 'DBRef(' + global.tojson(this.$ref) + ', ' + global.tojson(this.$id) + ')';
    });
    define(DBRef.prototype, 'tojson', DBRef.prototype.toString);

    function DBPointer(namespace, id) {
        var made = blank(this, DBPointer);
        if (arguments.length != 2) throw new Error('DBPointer takes a namespace and an id');
        made.ns = namespace;
        made.id = id;
        return made;
    }
    addClass('DBPointer', 9, DBPointer);
    define(DBPointer.prototype, 'getCollection', function () { return this.ns; });
    define(DBPointer.prototype, 'toString', function () {
        return 'DBPointer(' + global.tojson(this.ns) + ', ' + global.tojson(this.id) + ')';
    });
    define(DBPointer.prototype, 'tojson', DBPointer.prototype.toString);
    addClass('', 10, function NumberDecimal() {});

    show(NumberLong, ['valueOf', 'toNumber', 'toString', 'tojson']);
    show(ObjectId, ['toString', 'tojson', 'valueOf', 'isObjectId', 'getTimestamp',
                    'equals']);
    show(BinData, ['toString', 'base64', 'hex', 'tojson', 'subtype', 'length']);
    show(Timestamp, ['tojson', 'getTime', 'getInc', 'toString']);
    show(DBRef, ['fetch', 'tojson', 'getCollection', 'getRef', 'getId', 'toString']);
    show(MinKey, ['tojson']);
    show(MaxKey, ['tojson']);

    // What a document becomes: its constructor has no name.
    var bare = addClass('', 11, (function () { return function () {}; })());
    Object.defineProperty(bare, 'name', {value: ''});
    native.keep('ordered', function (object, names) {
        return new makeProxy(object, {
            ownKeys: function (target) {
                var present = [], rest = Object.getOwnPropertyNames(target), i, seen = {};
                for (i = 0; i < names.length; ++i) {
                    if (!Object.prototype.hasOwnProperty.call(target, names[i])) continue;
                    if (seen['$' + names[i]]) continue;
                    present.push(names[i]);
                    seen['$' + names[i]] = true;
                }
                for (i = 0; i < rest.length; ++i)
                    if (!seen['$' + rest[i]]) present.push(rest[i]);
                return present;
            }
        });
    });
    native.keep('proxy', makeProxy);

    var objectText = Object.prototype.toString;
    define(Object.prototype, 'toString', function toString() {
        'use strict';
        if (typeof this == 'object' && this !== null) {
            var name = classes[native.classNumber(this)];
            if (name) return '[object ' + name + ']';
        }
        return objectText.call(this);
    });

    // The text that a function was made from.
    var nativeText = Function.prototype.toString;
    function sourceOf(made) {
        var source = native.hidden(made);
        if (typeof source != 'string') return nativeText.call(made);
        return source.replace(/^\s*function\s*([^\s(]*)\s*\(/, 'function $1(');
    }
    native.keep('source', sourceOf);
    // What source.h puts around functions.
    define(global, 'keepSource', function (text, made) {
        if (typeof made == 'function') native.hide(made, text);
        return made;
    });
    define(Function.prototype, 'toString', function toString() { return sourceOf(this); });
    var evaluate = global.eval;
    native.keep('evaluate', function (text) {
        if (!/^\s*function\b/.test(text)) return evaluate(text);
        var made = evaluate('(' + text + '\n)');
        native.hide(made, text);
        return made;
    });

    var keysOf = Object.keys;
    define(Object, 'keys', function keys(object) {
        if (object === null || (typeof object != 'object' && typeof object != 'function'))
            throw new TypeError('Object.keys takes an object');
        return keysOf(object);
    });

    native.keep('Date', Date);
    native.keep('RegExp', RegExp);
    native.keep('getTime', (function (getTime) {
        return function (date) { return getTime.call(date); };
    })(Date.prototype.getTime));

    ['Symbol', 'Proxy', 'Reflect', 'Duktape', 'Buffer', 'ArrayBuffer', 'DataView', 'Int8Array',
     'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
     'Float32Array', 'Float64Array', 'globalThis', 'performance', 'TextEncoder', 'TextDecoder',
     'CBOR'].forEach(function (name) { delete global[name]; });
})JS";

}  // namespace script
