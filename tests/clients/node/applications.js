// Applications from npm whose packages carry their own tests; these are run as they are. They look
// for a server on port 27017, so every connection to it goes to the server under test.
//
//   mongodb-queue            a job queue (driver 3.7), tests by tape
//   mongojs                  the shell's API for programs (driver 3.7), tests by tape
//   connect-mongodb-session  a session store for Express (driver 6), tests by mocha
//
// Usage: node applications.js NAME
'use strict';

const {spawnSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const MODULES = path.resolve(__dirname, '../../../build/node-apps/node_modules');
const REDIRECT = path.join(__dirname, 'redirect.js');
const MILLISECONDS_MAX = 200000;  // only ends a run that hangs

const SUITES = {
    'mongodb-queue': {pattern: /^(?!setup).*\.js$/, run: tape, together: false, left_out: {}},
    mongojs: {
        pattern: /^test-.*\.js$/,
        run: tape,
        together: true,
        left_out: {
            'test-eval.js': 'server-side JavaScript is refused',
            'test-group.js': 'server-side JavaScript is refused',
            'test-map-reduce.js': 'server-side JavaScript is refused',
            'test-user-create.js': 'there are no users without authentication',
            'test-user-drop.js': 'there are no users without authentication',
            'test-connect-non-existing-db.js': 'wants another machine',
            'test-replace-one.js': 'uses replaceOne as only older drivers allow it',
        },
    },
    'connect-mongodb-session': {
        pattern: /\.test\.js$/,
        run: mocha,
        together: true,
        left_out: {},
        // Its clear() takes a callback and gives no promise, so that the test counts what is left
        // while that is being deleted.
        fixed: {'examples.test.js': ['await store.clear()',
                                      'await new Promise(done => store.clear(done))']},
    },
};

function node(folder, words) {
    const run = spawnSync(process.execPath, ['-r', REDIRECT, ...words], {
        cwd: folder, encoding: 'utf8', timeout: MILLISECONDS_MAX,
        env: {...process.env, NODE_PATH: MODULES, NODE_NO_WARNINGS: '1'},
    });
    return {status: run.status, output: run.stdout + run.stderr};
}

const count = (output, pattern) => Number((output.match(pattern) || [])[1] || 0);

function tape(folder, files) {
    const words = files.length > 1 ? [path.join(__dirname, 'tape_files.js'), ...files] : files;
    const {status, output} = node(folder, words);
    return {status, output, passed: count(output, /^# pass +(\d+)/m),
            failed: count(output, /^# fail +(\d+)/m)};
}

// One of its tests fails with every server: its callback is called a second time, after done().
// Mocha's own limit of two seconds a test would measure how fast a cold disk loads Express.
function mocha(folder, files) {
    const {status, output} = node(folder, [path.join(MODULES, 'mocha/bin/_mocha'), '--exit',
                                           '--timeout', String(MILLISECONDS_MAX),
                                           '--grep', 'handles index errors', '--invert', ...files]);
    return {status, output, passed: count(output, /(\d+) passing/),
            failed: count(output, /(\d+) failing/)};
}

// A test that does not wait for what it looks at then.
function fix(file, [wrong, right]) {
    const text = fs.readFileSync(file, 'utf8');
    if (!text.includes(wrong) && !text.includes(right)) throw new Error(`${file} has no ${wrong}`);
    fs.writeFileSync(file, text.replaceAll(wrong, right));
}

const {pattern, run, together, left_out: leftOut, fixed = {}} = SUITES[process.argv[2]];
const folder = path.join(MODULES, process.argv[2]);
for (const [file, change] of Object.entries(fixed)) fix(path.join(folder, 'test', file), change);
const files = fs.readdirSync(path.join(folder, 'test')).sort()
    .filter(file => pattern.test(file) && !leftOut[file]).map(file => path.join('test', file));
let [passed, failed] = [0, 0];
for (const some of together ? [files] : files.map(file => [file])) {
    const result = run(folder, some);
    passed += result.passed;
    if (result.status === 0 && result.failed === 0 && result.passed > 0) continue;
    failed += result.failed || 1;
    console.log(`FAIL: ${some} ended with ${result.status}\n${result.output}`);
}
for (const [file, why] of Object.entries(leftOut)) console.log(`left out: ${file}: ${why}`);
console.log(`${passed} passed, ${failed} failed, ${Object.keys(leftOut).length} skipped`);
process.exit(failed ? 1 : 0);
