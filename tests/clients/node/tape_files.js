// Runs test files of tape in one process and ends it with the last test, also when a test has left
// a connection open.
// Usage: node tape_files.js FILE...
'use strict';

const path = require('path');

require('tape').onFinish(() => process.exit());
for (const file of process.argv.slice(2)) require(path.resolve(file));
