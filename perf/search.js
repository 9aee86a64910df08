#!/usr/bin/env node
// Question: what do searches for the nearest points, and for words, cost beside PostGIS and FTS5?
//
// One client asks for the 10 and the 100 points nearest to each of some places, by 2d and by
// 2dsphere, then for texts of words by Zipf's law, the best 10. PostGIS answers with <-> over GiST
// to psql, SQLite's FTS5 by rank to sqlite3, which has no way to a server. Medians in milliseconds.
// Usage:    node perf/search.js [--points 1000000] [--texts 100000] [--asked 1000]
//           [--program build/none/bin/mongod]
// Needs:    postgresql-15-postgis-3, sqlite3 (Debian), and what ./lab test clients installs.
// Not for:  writes; several clients.
'use strict';

const {execFileSync, spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {parseArgs} = require('util');

const TOP = path.dirname(__dirname);
const {MongoClient} = require(path.join(TOP, 'build/node-clients/node_modules/mongodb'));
const {values: given} = parseArgs({options: {
    points: {type: 'string', default: '1000000'},
    texts: {type: 'string', default: '100000'},
    asked: {type: 'string', default: '1000'},
    program: {type: 'string', default: path.join(TOP, 'build/none/bin/mongod')},
}});
const PORT = 27300 + process.pid % 500;
const BINS = '/usr/lib/postgresql/15/bin/';
const LIMITS = [10, 100];
const BATCH = 10000;
const WORDS = 50000, WORDS_OF_TEXT = 100;
const SYLLABLES = [...'bdfgklmnprstvz'].flatMap(a => [...'aeiou'].map(b => a + b));

// Mulberry32: the same numbers each time.
function chance(seed) {
    return () => {
        seed = seed + 0x6d2b79f5 | 0;
        let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
        t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
        return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
    };
}

function median(numbers) {
    return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

async function medianOf(questions, ask) {
    const taken = [];
    for (const question of questions) {
        const started = performance.now();
        await ask(question);
        taken.push(performance.now() - started);
    }
    return median(taken);
}

function places(number, seed) {
    const next = chance(seed);
    return Array.from({length: number}, () => [next() * 360 - 180, next() * 170 - 85]);
}

// Word n, which comes as often as 1 / (n + 1) of the first.
function word(n) {
    let text = '';
    for (let left = n + SYLLABLES.length; left > 0; left = Math.floor(left / SYLLABLES.length))
        text += SYLLABLES[left % SYLLABLES.length];
    return text;
}

function zipf(seed) {
    const next = chance(seed);
    return () => Math.floor((WORDS + 1) ** next()) - 1;
}

function* texts(number) {
    const next = zipf(3);
    for (let i = 0; i < number; i++)
        yield Array.from({length: WORDS_OF_TEXT}, () => word(next())).join(' ');
}

async function fill(collection, documents) {
    let batch = [];
    for (const document of documents) {
        if (batch.push(document) < BATCH) continue;
        await collection.insertMany(batch);
        batch = [];
    }
    if (batch.length) await collection.insertMany(batch);
}

async function nearest(db, points, asked) {
    const found = {};
    for (const kind of ['2d', '2dsphere']) {
        const collection = db.collection(kind);
        await fill(collection, points.map((at, _id) => ({_id, at})));
        await collection.createIndex({at: kind});
        for (const limit of LIMITS) {
            found[`${kind} ${limit}`] = await medianOf(asked, async at => {
                const $near = kind === '2d' ? at : {$geometry: {type: 'Point', coordinates: at}};
                const ids = await collection.find({at: {$near}}).project({_id: 1}).limit(limit)
                    .toArray();
                if (ids.length !== limit) throw new Error('too few points');
            });
        }
    }
    return found;
}

function nearestByPostgis(points, asked, folder) {
    const as = words => execFileSync('runuser', ['-u', 'postgres', '--', ...words],
                                     {cwd: folder, maxBuffer: 2 ** 30, encoding: 'utf8'});
    const data = path.join(folder, 'postgresql'), file = path.join(folder, 'asked.sql');
    const text = ['create extension postgis;'], found = {};
    const at = place => `SRID=4326;POINT(${place[0]} ${place[1]})`;
    for (const type of ['geometry', 'geography']) {
        text.push(`create table ${type}s (id int, at ${type}(Point, 4326));`,
                  `copy ${type}s from stdin;`,
                  points.map((one, id) => `${id}\t${at(one)}\n`).join('') + '\\.',
                  `create index on ${type}s using gist (at);`, `vacuum analyze ${type}s;`);
        for (const limit of LIMITS) {
            text.push('\\echo part', '\\timing on', ...asked.map(
                one => `select id from ${type}s order by at <-> '${at(one)}'::${type} limit ` +
                    `${limit};`), '\\timing off');
        }
    }
    fs.writeFileSync(file, text.join('\n') + '\n');
    as([BINS + 'initdb', '-D', data, '-A', 'trust']);
    as([BINS + 'pg_ctl', '-D', data, '-w', '-l', path.join(folder, 'log'), '-o',
        `-k ${folder} -h '' -c shared_buffers=512MB`, 'start']);
    try {
        const parts = as(['psql', '-h', folder, '-q', '-v', 'ON_ERROR_STOP=1', '-f', file])
            .split('part\n').slice(1);
        ['2d 10', '2d 100', '2dsphere 10', '2dsphere 100'].forEach((name, i) => {
            found[name] = median([...parts[i].matchAll(/^Time: ([\d.]+)/gm)].map(m => +m[1]));
        });
    } finally {
        as([BINS + 'pg_ctl', '-D', data, '-m', 'immediate', 'stop']);
    }
    return found;
}

// What is asked for: words of the middle of the law, and runs of two from the texts.
function questions(number, all) {
    const next = zipf(4), one = () => word(next() % 2000 + 20);
    return {
        'one word': Array.from({length: number}, one),
        'two words': Array.from({length: number}, () => `${one()} ${one()}`),
        'a phrase': Array.from({length: number}, (_, i) => {
            const words = all[i * 7 % all.length].split(' ');
            return `"${words[i % 90]} ${words[i % 90 + 1]}"`;
        }),
    };
}

async function texted(db, all, asked) {
    const collection = db.collection('texts'), found = {};
    await fill(collection, all.map((a, _id) => ({_id, a})));
    await collection.createIndex({a: 'text'}, {default_language: 'english'});
    const score = {$meta: 'textScore'};
    for (const [name, list] of Object.entries(asked)) {
        found[name] = await medianOf(list, $search => collection.find({$text: {$search}}).project(
            {_id: 1, score}).sort({score}).limit(10).toArray());
    }
    return found;
}

function textedBySqlite(all, asked, folder) {
    const file = path.join(folder, 'texts.db'), found = {};
    const run = lines => execFileSync('sqlite3', [file], {
        input: lines.join('\n') + '\n', encoding: 'utf8', maxBuffer: 2 ** 30});
    run(["create virtual table texts using fts5(a, tokenize = 'porter');", 'begin;',
         ...all.map((a, id) => `insert into texts(rowid, a) values (${id}, '${a}');`), 'commit;']);
    for (const [name, list] of Object.entries(asked)) {
        const output = run(['.timer on', ...list.map(words => {
            const match = name === 'two words' ? words.replace(' ', ' OR ') : words;
            return `select rowid from texts where texts match '${match}' order by rank limit 10;`;
        })]);
        found[name] = 1000 * median([...output.matchAll(/^Run Time: real ([\d.]+)/gm)].map(
            m => +m[1]));
    }
    return found;
}

function print(peer, ours, theirs) {
    for (const [name, value] of Object.entries(ours)) {
        console.log(`${name.padEnd(14)} mongod ${value.toFixed(3)}   ${peer} ` +
                    `${theirs[name].toFixed(3)}   ${(value / theirs[name]).toFixed(2)} times`);
    }
}

async function main() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'search-'));
    fs.chmodSync(folder, 0o777); // of PostgreSQL's user too
    fs.mkdirSync(path.join(folder, 'db'));
    const mongod = spawn(given.program, [
        '--dbpath', path.join(folder, 'db'), '--port', `${PORT}`, '--bind_ip', '127.0.0.1',
        '--nounixsocket'], {stdio: 'ignore'});
    const client = new MongoClient(`mongodb://127.0.0.1:${PORT}`);
    try {
        const db = client.db('search');
        const points = places(+given.points, 1), asked = places(+given.asked, 2);
        const ours = await nearest(db, points, asked);
        print('PostGIS', ours, nearestByPostgis(points, asked, folder));
        const all = [...texts(+given.texts)], words = questions(+given.asked, all);
        print('FTS5', await texted(db, all, words), textedBySqlite(all, words, folder));
    } finally {
        await client.close();
        mongod.kill('SIGKILL');
        fs.rmSync(folder, {recursive: true});
    }
}

main();
