#include "script/duktape/prelude.h"

namespace script {

// Values as texts, and texts as dates.
const char* const kPreludeTexts = R"JS(function (native, global) {
    function define(object, name, value) {
        Object.defineProperty(object, name, {value: value, writable: true, configurable: true});
    }
    function digits(number, count) {
        var text = String(Math.abs(number));
        while (text.length < count) text = '0' + text;
        return number < 0 ? '-' + text : text;
    }
    var days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
    var months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov',
                  'Dec'];
    function dayText(d) {
        return days[d.getUTCDay()] + ' ' + months[d.getUTCMonth()] + ' ' +
            digits(d.getUTCDate(), 2) + ' ' + d.getUTCFullYear();
    }
    function timeText(d) {
        return digits(d.getUTCHours(), 2) + ':' + digits(d.getUTCMinutes(), 2) + ':' +
            digits(d.getUTCSeconds(), 2) + ' GMT+0000 (UTC)';
    }
    function dateFunction(make) {
        return function () { return isNaN(this.getTime()) ? 'Invalid Date' : make(this); };
    }
    define(Date.prototype, 'toString', dateFunction(function (d) {
        return dayText(d) + ' ' + timeText(d);
    }));
    define(Date.prototype, 'toDateString', dateFunction(dayText));
    define(Date.prototype, 'toTimeString', dateFunction(timeText));
    var utcText = dateFunction(function (d) {
        return days[d.getUTCDay()] + ', ' + digits(d.getUTCDate(), 2) + ' ' +
            months[d.getUTCMonth()] + ' ' + d.getUTCFullYear() + ' ' +
            timeText(d).replace(/\+.*/, '');
    });
    define(Date.prototype, 'toUTCString', utcText);
    define(Date.prototype, 'toGMTString', utcText);
    Date.prototype.tojson = function () {
        if (isNaN(this.getTime())) return 'ISODate("")';
        var ms = this.getUTCMilliseconds();
        return 'ISODate("' + digits(this.getUTCFullYear(), 4) + '-' +
            digits(this.getUTCMonth() + 1, 2) + '-' + digits(this.getUTCDate(), 2) + 'T' +
            digits(this.getUTCHours(), 2) + ':' + digits(this.getUTCMinutes(), 2) + ':' +
            digits(this.getUTCSeconds(), 2) + (ms ? '.' + digits(ms, 3) : '') + 'Z")';
    };
    define(Date, 'timeFunc', function (call, times) {
        var start = new Date();
        for (var i = 0; i < (times || 1); ++i) call();
        return new Date() - start;
    });

    var isoForm = new RegExp('^(\\d{4})-?(\\d{2})-?(\\d{2})' +
                             '(?:[T ](\\d{2})(?::?(\\d{2})(?::?(\\d{2}(?:\\.\\d+)?))?)?' +
                             '(Z|[+-]\\d{2}(?::?\\d{2})?)?)?$');
    define(global, 'ISODate', function ISODate(text) {
        if (text === undefined || text === '') return new Date();
        var found = isoForm.exec(text);
        if (!found) throw new Error('this is no date: ' + text);
        var seconds = parseFloat(found[6] || 0), whole = Math.floor(seconds);
        var time = Date.UTC(+found[1], found[2] - 1, +found[3], +(found[4] || 0),
                            +(found[5] || 0), whole, Math.round((seconds - whole) * 1000));
        if (found[7] && found[7] != 'Z') {
            var part = /^([+-])(\d{2}):?(\d{2})?$/.exec(found[7]);
            var offset = (part[2] * 60 + +(part[3] || 0)) * 60000;
            time += part[1] == '+' ? -offset : offset;
        }
        return new Date(time);
    });

    function quoted(text) {
        var out = '"';
        for (var i = 0; i < text.length; ++i) {
            var c = text.charAt(i);
            if (c == '"') out += '\\"';
            else if (c == '\\') out += '\\\\';
            else if (c == '\b') out += '\\b';
            else if (c == '\f') out += '\\f';
            else if (c == '\n') out += '\\n';
            else if (c == '\r') out += '\\r';
            else if (c == '\t') out += '\\t';
            else if (c < ' ') out += '\\u' + ('000' + c.charCodeAt(0).toString(16)).slice(-4);
            else out += c;
        }
        return out + '"';
    }
    function tojson(x, indent, nolint) {
        if (x === null) return 'null';
        if (x === undefined) return 'undefined';
        if (typeof x == 'string') return quoted(x);
        if (typeof x == 'number' || typeof x == 'boolean') return String(x);
        if (typeof x == 'function') return String(x);
        if (typeof x != 'object') throw new Error('a value of type ' + typeof x + ' has no text');
        var text = tojsonObject(x, indent, nolint);
        if (!nolint && text.length < 80 && (indent === undefined || indent === ''))
            text = text.replace(/[\s\r\n ]+/gm, ' ');
        return text;
    }
    function tojsonObject(x, indent, nolint) {
        var line = nolint ? ' ' : '\n', tab = nolint ? '' : '\t';
        if (indent === undefined) indent = '';
        if (typeof x.tojson == 'function' && x.tojson != tojson) return x.tojson(indent, nolint);
        if (x.constructor && typeof x.constructor.tojson == 'function' &&
            x.constructor.tojson != tojson)
            return x.constructor.tojson(x, indent, nolint);
        if (x instanceof RegExp || x instanceof Error) return String(x);
        var out = '{' + line, names = Object.keys(x);
        indent += tab;
        for (var i = 0; i < names.length; ++i) {
            var value = x[names[i]];
            if (global.DB && (value === global.DB.prototype ||
                              value === global.DBCollection.prototype)) continue;
            out += indent + '"' + names[i] + '" : ' + tojson(value, indent, nolint);
            if (i + 1 < names.length) out += ',' + line;
        }
        return out + line + indent.substring(1) + '}';
    }
    define(Array, 'tojson', function (list, indent, nolint) {
        if (!nolint && list.length === 0) return '[ ]';
        var line = nolint ? ' ' : '\n', out = '[' + line;
        if (indent === undefined || nolint) indent = '';
        if (!nolint) indent += '\t';
        for (var i = 0; i < list.length; ++i) {
            out += indent + tojson(list[i], indent, nolint);
            if (i + 1 < list.length) out += ',' + line;
        }
        if (list.length === 0) out += indent;
        return out + line + indent.substring(1) + ']';
    });
    define(global, 'tojson', tojson);
    define(global, 'tojsonObject', tojsonObject);
    define(global, 'tojsononeline', function tojsononeline(x) { return tojson(x, ' ', true); });
    define(RegExp, 'escape', function (text) {
        return text.replace(/[-\[\]{}()*+?.,\\^$|#\s]/g, '\\$&');
    });
    // Texts of expressions have no flags but these.
    var flags = Object.getOwnPropertyDescriptor(RegExp.prototype, 'flags');
    if (!flags)
        Object.defineProperty(RegExp.prototype, 'flags', {get: function () {
            return (this.global ? 'g' : '') + (this.ignoreCase ? 'i' : '') +
                (this.multiline ? 'm' : '');
        }});
})JS";

}  // namespace script
