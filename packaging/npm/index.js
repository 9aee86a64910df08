// A small MongoDB-compatible server for tests: mongod-dur.
//
//   const { program, temporary, server } = require('mongod-dur');
//   program                              the path of mongod: mongodb-memory-server's systemBinary
//   const { uri, stop } = await temporary({ set: 'rs0', options: ['--quiet'] });
//   test('...', async (t) => {
//     const uri = await server(t);       of node:test: ended behind all else that t.after() ends
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { createInterface } = require('node:readline');

const folder = path.join(__dirname, 'bin');
const program = path.join(folder, 'mongod');

// A server on a free port and in a temporary directory; with `set` the primary of a set of one. It
// ends with this process at the latest.
async function temporary({ set, options = [] } = {}) {
  const words = [...(set ? ['--set', set] : []), ...options];
  const child = spawn(path.join(folder, 'temporary'), words,
    { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  ended.catch(() => {});
  const line = await Promise.race([
    new Promise((resolve) => { createInterface({ input: child.stdout }).once('line', resolve); }),
    ended.then((code) => { throw new Error(`mongod-dur did not start: it ended with ${code}`); }),
  ]);
  child.unref();
  return {
    uri: line,
    async stop() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}

async function server(t, settings) {
  const { uri, stop } = await temporary(settings);
  // Behind what the test itself ends: a driver whose server has gone takes half a minute to close.
  t.after(() => { t.after(stop); });
  return uri;
}

module.exports = { program, temporary, server };
