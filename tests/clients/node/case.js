// What the clients in JavaScript share: named checks in order, and a closing line for the runner.
'use strict';

const {createRequire} = require('module');
const path = require('path');

const TOP = path.resolve(__dirname, '../../..');

exports.uri = process.env.MONGOD_URI;

/** A package that setup/<project>/package-lock.json pins. */
exports.load = (project, name) =>
    createRequire(path.join(TOP, 'build', project, 'package.json'))(name);

/** Runs checks, an object of async functions by name, then ends the process. */
exports.main = async checks => {
    let passed = 0;
    let failed = 0;
    for (const [name, check] of Object.entries(checks)) {
        try {
            await check();
            console.log('ok: ' + name);
            passed++;
        } catch (error) {
            console.log('FAIL: ' + name + '\n' + error.stack);
            failed++;
        }
    }
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
};
