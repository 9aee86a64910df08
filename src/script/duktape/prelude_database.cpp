#include "script/duktape/prelude.h"

namespace script {

// The object db of an eval: commands of its client, under names of the old shell.
const char* const kPreludeDatabase = R"JS(function (native, global, proxy) {
    function define(object, name, value) {
        Object.defineProperty(object, name, {value: value, writable: true, configurable: true});
    }
    function methods(make, functions) {
        define(global, make.name, make);
        Object.keys(functions).forEach(function (name) {
            define(make.prototype, name, functions[name]);
        });
    }
    // Names that the object does not have are collections.
    function withCollections(object, find) {
        return new proxy(object, {
            get: function (target, name) {
                if (name in target || typeof name != 'string') return target[name];
                return find(name);
            }
        });
    }
    function checked(reply, what) {
        if (!reply.ok) throw new Error(what + ' failed: ' + tojson(reply));
        return reply;
    }

    function Mongo(host) {
        if (host !== undefined) throw new Error('a script of a server connects to no other');
    }
    methods(Mongo, {
        getDB: function (name) { return openDatabase(name); },
        toString: function () { return 'connection to 127.0.0.1'; },
        tojson: function () { return this.toString(); },
        setSlaveOk: function () {}, getReadPrefMode: function () { return 'primary'; },
        getDBs: function () { return openDatabase('admin').runCommand({listDatabases: 1}); },
        getDBNames: function () {
            return this.getDBs().databases.map(function (entry) { return entry.name; });
        }
    });

    function WriteConcern(document) { this._document = document; }
    methods(WriteConcern, {toJSON: function () { return this._document; }});

    function WriteError(entry) {
        this.code = entry.code;
        this.errmsg = entry.errmsg;
    }
    function WriteResult(fields) { define(this, '_fields', fields); }
    methods(WriteResult, {
        hasWriteError: function () { return this._fields.writeError !== undefined; },
        getWriteError: function () { return this._fields.writeError; },
        hasWriteConcernError: function () { return false; },
        tojson: function (indent, nolint) { return tojson(this._fields, indent, nolint); },
        toString: function () { return 'WriteResult(' + tojson(this._fields) + ')'; }
    });
    function writeResult(fields, reply) {
        if (reply.writeErrors) fields.writeError = new WriteError(reply.writeErrors[0]);
        else if (!reply.ok) fields.writeError = new WriteError(reply);
        var made = new WriteResult(fields);
        Object.keys(fields).forEach(function (name) { define(made, name, fields[name]); });
        return made;
    }

    function DB(mongo, name) {
        this._mongo = mongo;
        this._name = name;
    }
    methods(DB, {
        getName: function () { return this._name; },
        getMongo: function () { return this._mongo; },
        toString: function () { return this._name; },
        tojson: function () { return this._name; },
        getCollection: function (name) { return openCollection(this, name); },
        getSiblingDB: function (name) { return openDatabase(name); },
        getSisterDB: function (name) { return openDatabase(name); },
        runCommand: function (command) {
            if (typeof command == 'string') {
                var named = {};
                named[command] = 1;
                command = named;
            }
            return native.run(this._name, command);
        },
        _dbCommand: function (command) { return this.runCommand(command); },
        adminCommand: function (command) { return this.getSiblingDB('admin').runCommand(command); },
        _adminCommand: function (command) { return this.adminCommand(command); },
        dropDatabase: function () { return this.runCommand({dropDatabase: 1}); },
        createCollection: function (name, options) {
            return this.runCommand(Object.extend({create: name}, options || {}));
        },
        getCollectionNames: function () {
            return checked(this.runCommand({listCollections: 1, cursor: {batchSize: 100000}}),
                           'listCollections').cursor.firstBatch.map(function (entry) {
                return entry.name;
            }).sort();
        },
        getLastErrorObj: function (w, wtimeout) {
            var command = {getlasterror: 1};
            if (w) command.w = w;
            if (wtimeout) command.wtimeout = wtimeout;
            return checked(this.runCommand(command), 'getlasterror');
        },
        getLastError: function (w, wtimeout) { return this.getLastErrorObj(w, wtimeout).err; },
        getLastErrorCmd: function (w, wtimeout) { return this.getLastErrorObj(w, wtimeout); },
        getPrevError: function () { return this.runCommand({getpreverror: 1}); },
        resetError: function () { return this.runCommand({reseterror: 1}); },
        stats: function (scale) { return this.runCommand({dbstats: 1, scale: scale || 1}); },
        serverStatus: function () { return this.adminCommand({serverStatus: 1}); },
        serverBuildInfo: function () { return this.adminCommand({buildInfo: 1}); },
        hostInfo: function () { return this.adminCommand({hostInfo: 1}); },
        version: function () { return this.serverBuildInfo().version; },
        isMaster: function () { return this.runCommand({isMaster: 1}); },
        currentOp: function () { return this.adminCommand({currentOp: 1}); },
        getProfilingLevel: function () {
            var reply = this.runCommand({profile: -1});
            return reply ? reply.was : null;
        },
        getProfilingStatus: function () { return this.runCommand({profile: -1}); },
        setProfilingLevel: function (level, slowms) {
            var command = {profile: level};
            if (slowms !== undefined) command.slowms = slowms;
            return this.runCommand(command);
        },
        getReplicationInfo: function () { return {errmsg: 'not in a script of a server'}; },
        getSlaveOk: function () { return false; },
        setSlaveOk: function () {},
        eval: function (code) {
            var command = {$eval: code};
            if (arguments.length > 1) command.args = Array.prototype.slice.call(arguments, 1);
            return checked(this.runCommand(command), 'eval').retval;
        },
        groupcmd: function (options) { return this.getCollection(options.ns).group(options); },
        loadServerScripts: function () {
            this.getCollection('system.js').find().forEach(function (stored) {
                global[stored._id] = stored.value;
            });
        }
    });
    function openDatabase(name) {
        var made = new DB(new Mongo(), name);
        var opened = withCollections(made, function (collection) {
            return openCollection(opened, collection);
        });
        return opened;
    }
    native.keep('openDatabase', openDatabase);

    function DBCollection(database, name) {
        this._db = database;
        this._shortName = name;
        this._fullName = database.getName() + '.' + name;
    }
    function openCollection(database, name) {
        return withCollections(new DBCollection(database, name), function (more) {
            return openCollection(database, name + '.' + more);
        });
    }
    function withId(document) {
        if (document._id !== undefined) return document;
        var made = {_id: new ObjectId()};
        for (var name in document) made[name] = document[name];
        return made;
    }
    function queryOf(query) {
        if (query === undefined || query === null) return {};
        if (typeof query == 'string' || typeof query == 'function') return {$where: query};
        if (query instanceof ObjectId) return {_id: query};
        return query;
    }
    methods(DBCollection, {
        getName: function () { return this._shortName; },
        getFullName: function () { return this._fullName; },
        getDB: function () { return this._db; },
        getMongo: function () { return this._db.getMongo(); },
        getCollection: function (name) {
            return openCollection(this._db, this._shortName + '.' + name);
        },
        toString: function () { return this._fullName; },
        tojson: function () { return this._fullName; },
        runCommand: function (command, more) {
            if (typeof command != 'string') return this._db.runCommand(command);
            var named = {};
            named[command] = this._shortName;
            return this._db.runCommand(Object.extend(named, more || {}));
        },
        find: function (query, fields, limit, skip) {
            return new DBQuery(this, queryOf(query), fields, limit, skip);
        },
        findOne: function (query, fields) {
            var cursor = this.find(query, fields, 1);
            return cursor.hasNext() ? cursor.next() : null;
        },
        insert: function (documents, options) {
            if (!documents) throw new Error('insert takes a document');
            var list = (Array.isArray(documents) ? documents : [documents]).map(withId);
            var reply = this.runCommand('insert', {documents: list,
                                                   ordered: !(options & 1)});
            return writeResult({nInserted: reply.n || 0}, reply);
        },
        update: function (query, changes, upsert, multi) {
            if (!query || !changes) throw new Error('update takes a query and changes');
            if (upsert && typeof upsert == 'object') {
                multi = upsert.multi;
                upsert = upsert.upsert;
            }
            var reply = this.runCommand('update', {updates: [
                {q: queryOf(query), u: changes, upsert: !!upsert, multi: !!multi}]});
            var upserted = reply.upserted ? reply.upserted.length : 0;
            var fields = {nMatched: (reply.n || 0) - upserted, nUpserted: upserted,
                          nModified: +(reply.nModified || 0)};
            if (upserted) fields._id = reply.upserted[0]._id;
            return writeResult(fields, reply);
        },
        save: function (document) {
            if (!document) throw new Error('save takes a document');
            if (document._id === undefined) return this.insert(document);
            return this.update({_id: document._id}, document, true);
        },
        remove: function (query, justOne) {
            if (query === undefined) throw new Error('remove takes a query');
            if (justOne && typeof justOne == 'object') justOne = justOne.justOne;
            var reply = this.runCommand('delete', {deletes: [{q: queryOf(query),
                                                              limit: justOne ? 1 : 0}]});
            return writeResult({nRemoved: reply.n || 0}, reply);
        },
        count: function (query) {
            return checked(this.runCommand('count', {query: queryOf(query)}), 'count').n;
        },
        distinct: function (key, query) {
            return checked(this.runCommand('distinct', {key: key, query: queryOf(query)}),
                           'distinct').values;
        },
        findAndModify: function (options) {
            return checked(this.runCommand('findandmodify', options), 'findAndModify').value;
        },
        aggregate: function (first) {
            var stages = Array.isArray(first) ? first : Array.prototype.slice.call(arguments);
            var reply = checked(this.runCommand('aggregate', {pipeline: stages,
                                                              cursor: {batchSize: 1000000}}),
                                'aggregate');
            return new Rows(this, reply.cursor);
        },
        mapReduce: function (map, reduce, options) {
            if (typeof options == 'string') options = {out: options};
            return checked(this.runCommand('mapreduce', Object.extend(
                {map: map, reduce: reduce}, options)), 'mapReduce');
        },
        group: function (options) {
            var command = {ns: this._shortName, $reduce: options.$reduce || options.reduce,
                           initial: options.initial || {}};
            if (options.key) command.key = options.key;
            if (options.keyf || options.$keyf) command.$keyf = options.keyf || options.$keyf;
            if (options.cond) command.cond = options.cond;
            if (options.finalize) command.finalize = options.finalize;
            return checked(this._db.runCommand({group: command}), 'group').retval;
        },
        drop: function () { return this.runCommand('drop').ok == 1; },
        ensureIndex: function (keys, options) { return this.createIndex(keys, options); },
        createIndex: function (keys, options) {
            var name = Object.keys(keys).map(function (key) {
                return key + '_' + keys[key];
            }).join('_');
            var index = Object.extend({key: keys, name: name},
                                      typeof options == 'object' ? options : {});
            if (options === true) index.unique = true;
            return this.runCommand('createIndexes', {indexes: [index]});
        },
        dropIndex: function (index) { return this.runCommand('dropIndexes', {index: index}); },
        dropIndexes: function () { return this.dropIndex('*'); },
        getIndexes: function () {
            return checked(this.runCommand('listIndexes', {cursor: {batchSize: 1000}}),
                           'listIndexes').cursor.firstBatch;
        },
        reIndex: function () { return this.runCommand('reIndex'); },
        validate: function (full) { return this.runCommand('validate', {full: !!full}); },
        stats: function (scale) { return this.runCommand('collstats', {scale: scale || 1}); },
        dataSize: function () { return this.stats().size; },
        storageSize: function () { return this.stats().storageSize; },
        isCapped: function () { return !!this.stats().capped; },
        exists: function () {
            var name = this._shortName;
            return this._db.getCollectionNames().indexOf(name) < 0 ? null : {name: name};
        },
        renameCollection: function (name, dropTarget) {
            return this._db.adminCommand({renameCollection: this._fullName,
                                          to: this._db.getName() + '.' + name,
                                          dropTarget: !!dropTarget});
        }
    });

    // Results in batches.
    function Rows(collection, cursor) {
        this._collection = collection;
        this._take(cursor, cursor.firstBatch);
    }
    methods(Rows, {
        _take: function (cursor, batch) {
            this._id = cursor.id;
            this._batch = batch;
            this._at = 0;
        },
        hasNext: function () {
            while (this._at >= this._batch.length) {
                if (this._id == 0) return false;
                var reply = checked(this._collection.getDB().runCommand(
                    {getMore: this._id, collection: this._collection.getName()}), 'getMore');
                this._take(reply.cursor, reply.cursor.nextBatch);
            }
            return true;
        },
        next: function () {
            if (!this.hasNext()) throw new Error('there are no more documents');
            return this._batch[this._at++];
        },
        objsLeftInBatch: function () { return this._batch.length - this._at; },
        forEach: function (call) { while (this.hasNext()) call(this.next()); },
        map: function (call) {
            var all = [];
            while (this.hasNext()) all.push(call(this.next()));
            return all;
        },
        toArray: function () { return this.map(function (document) { return document; }); },
        itcount: function () {
            var count = 0;
            for (; this.hasNext(); this.next()) ++count;
            return count;
        }
    });
    delete global.Rows;

    function DBQuery(collection, query, fields, limit, skip) {
        this._collection = collection;
        this._command = {filter: query};
        if (fields) this._command.projection = fields;
        if (limit) this._command.limit = limit;
        if (skip) this._command.skip = skip;
        this._rows = null;
    }
    var queries = {
        _exec: function () {
            if (this._rows) return this._rows;
            var command = Object.extend({}, this._command);
            if (command.limit < 0) {
                command.limit = -command.limit;
                command.singleBatch = true;
            }
            this._rows = new Rows(this._collection, checked(
                this._collection.runCommand('find', command), 'find').cursor);
            return this._rows;
        },
        _with: function (name, value) {
            if (this._rows) throw new Error('the query was executed before');
            this._command[name] = value;
            return this;
        },
        skip: function (n) { return this._with('skip', n); },
        limit: function (n) { return this._with('limit', n); },
        sort: function (order) { return this._with('sort', order); },
        hint: function (index) { return this._with('hint', index); },
        min: function (key) { return this._with('min', key); },
        max: function (key) { return this._with('max', key); },
        maxTimeMS: function (ms) { return this._with('maxTimeMS', ms); },
        batchSize: function (n) { return this._with('batchSize', n); },
        addOption: function () { return this; },
        snapshot: function () { return this; },
        showDiskLoc: function () { return this._with('showRecordId', true); },
        readPref: function () { return this; },
        count: function (applied) {
            var more = {query: this._command.filter};
            if (applied) {
                if (this._command.limit) more.limit = this._command.limit;
                if (this._command.skip) more.skip = this._command.skip;
            }
            return checked(this._collection.runCommand('count', more), 'count').n;
        },
        size: function () { return this.count(true); },
        length: function () { return this.toArray().length; },
        explain: function () {
            return this._collection.getDB().runCommand({explain: Object.extend(
                {find: this._collection.getName()}, this._command)});
        },
        toString: function () { return 'DBQuery: ' + this._collection.getFullName(); },
        tojson: function () { return tojson(this.toArray()); }
    };
    ['hasNext', 'next', 'forEach', 'map', 'toArray', 'itcount', 'objsLeftInBatch'
    ].forEach(function (name) {
        queries[name] = function (call) { return this._exec()[name](call); };
    });
    methods(DBQuery, queries);
})JS";

}  // namespace script
