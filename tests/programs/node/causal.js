// A driver's causal session reads at secondaries what it has written, and its change stream tells
// each write once, in order, while a secondary stands still for a second and the primary hands
// over.
// Usage: node causal.js [node|go|java]...    clients, which print a line for what they miss or see
'use strict';

const assert = require('assert/strict');
const {spawnSync} = require('child_process');
const path = require('path');
const {main} = require('../../clients/node/case.js');
const {endSet, runBeside, scratch, startSet, waitFor} = require('./members.js');

const WRITES = Number(process.env.CAUSAL_WRITES || 1000);
const TOP = path.resolve(__dirname, '../../..');
// The driver has sent these again by itself, and met it once more.
const OF_HAND_OVER = /not primary|this member is not in the state any more/;

const folder = scratch('causal');

const CLIENTS = {
    node: () => [process.execPath, path.join(__dirname, 'causal_client.js')],

    go() {
        const program = path.join(folder, 'causal');
        // The driver of today wants a Go that not every system has.
        const versions = ['newest.mod', 'go.mod'];
        assert(versions.some(version => spawnSync(
            'go', ['build', '-modfile=' + version, '-o', program, './causal'],
            {cwd: path.join(TOP, 'tests/clients/go/v2'), stdio: 'inherit',
             env: {...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly'}}).status === 0));
        return [program];
    },

    java: () => ['java', '-cp', path.join(TOP, 'build/spring/lib/*'),
                 path.join(TOP, 'tests/programs/java/Causal.java')],
};

/** The checks of one client, on a set of its own. */
function checks(name, command) {
    const said = {missed: [], event: [], again: []};
    let set, end;

    return {
        async [name + ': a secondary stands still for a second']() {
            const words = command();
            set = await startSet(path.join(folder, name), 3);
            const environment = {MONGOD_URI: set.uri, CAUSAL_WRITES: `${WRITES}`};
            end = runBeside(words, environment, line => {
                const [word, rest] = line.split(/ (.*)/);
                if (said[word]) said[word].push(rest);
                else console.log(line);
            }).end;
            await waitFor('a tenth came', () => said.event.length > WRITES / 10);
            await set.members[1].halt(1000);
        },

        async [name + ': the primary hands over']() {
            await waitFor('half came', () => said.event.length > WRITES / 2);
            assert(said.event.length < WRITES, 'all came before');
            const [primary, ...others] = set.members;
            await primary.admin.command({replSetStepDown: 60, secondaryCatchUpPeriodSecs: 30});
            await waitFor('another is the primary', async () => {
                for (const each of others) if (await each.isPrimary()) return true;
                return false;
            });
        },

        async [name + ': no own write is missed']() {
            assert.equal(await end, 0);
            assert.deepEqual(said.missed, []);
        },

        async [name + ': each write is an event, once and in order']() {
            assert.deepEqual(said.event.map(Number),
                             Array.from({length: WRITES}, (_, number) => number));
        },

        async [name + ': no operation fails but those that meet the hand-over']() {
            await endSet(set);
            assert.deepEqual(said.again.filter(text => !OF_HAND_OVER.test(text)), []);
        },
    };
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(CLIENTS);
main(Object.assign({}, ...names.map(name => checks(name, CLIENTS[name]))));
