// journalAwake: processors do not halt while durable writes follow each other.
// docs: patches/journal-awake.patch
// Group: patches

const name = 'journalAwake';
const busy = quick.concat('--journalCommitInterval', '0', '--journalWaiterCommits');
const holds = server => Number(dur(server).awake.held) + Number(dur(server).awake.refused);

// How often it has the system's file open.
const keepers = server => {
    const files = fs.readdirSync(`/proc/${server.process.pid}/fd`).filter(fd => {
        try {
            const target = fs.readlinkSync(`/proc/${server.process.pid}/fd/${fd}`);
            return target === '/dev/cpu_dma_latency';
        } catch (error) {
            return false;  // closed by now
        }
    });
    return files.length;
};

// Durable inserts that wait in the server already: the shell is too slow between two of its own.
function insertAtOnce(server, count) {
    const cstring = text => Buffer.from(`${text}\0`);
    const int32 = value => {
        const bytes = Buffer.alloc(4);
        bytes.writeInt32LE(value);
        return bytes;
    };
    const field = (type, name, value) => Buffer.concat([Buffer.from([type]), cstring(name), value]);
    const text = (name, value) =>
        field(2, name, Buffer.concat([int32(value.length + 1), cstring(value)]));
    const object = fields => {
        const body = Buffer.concat([...fields, Buffer.from([0])]);
        return Buffer.concat([int32(body.length + 4), body]);
    };
    const messages = [];
    for (let i = 0; i < count; ++i) {
        const body = object([
            text('insert', 'durable'),
            field(4, 'documents', object([field(3, '0', object([field(16, 'n', int32(i))]))])),
            field(3, 'writeConcern', object([field(8, 'j', Buffer.from([1]))])),
            text('$db', 'test'),
        ]);
        messages.push(int32(16 + 4 + 1 + body.length), int32(i + 1), int32(0), int32(2013),
                      int32(0), Buffer.from([0]), body);
    }
    const socket = require('net').connect(server.port, '127.0.0.1');
    socket.write(Buffer.concat(messages));
    return socket;
}

test('the base does not know it', () => assertBaseRejects(name));

test('off by default', () => {
    const server = startServer({options: busy});
    assertEq(parameter(server, name), false);
    insertDurably(server, 0, 50);
    assertEq(dur(server).awake, undefined);
    assertEq(keepers(server), 0);
    assertEq(stopServer(server), 0);
});

test('on: while durable writes follow each other, and no longer', () => {
    const server = startServer({options: busy.concat(`--${name}`)});
    assertEq(parameter(server, name), true);
    const socket = insertAtOnce(server, 300);
    waitFor('commits that follow each other closely', () => holds(server) > 0);
    waitFor('all inserts', () => durable(server).countDocuments({}) === 300);
    socket.destroy();
    waitFor('processors that may halt', () => keepers(server) === 0);
    assertEq(stopServer(server), 0);
});

test('may be switched while running', () => {
    const server = startServer({options: busy});
    assertEq(setParameter(server, name, true).was, false);
    insertDurably(server, 0, 20);
    assertBetween(0, holds(server), 20);
    assertEq(setParameter(server, name, false).was, true);
    assertEq(dur(server).awake, undefined);
    assertEq(stopServer(server), 0);
});

test('YAML', () => {
    const server = startFromYaml('storage.journal.awake', true);
    assertEq(parameter(server, name), true);
    assertEq(stopServer(server), 0);
});

testRecoveryAcrossBuilds(['--journalCommitInterval', '0', '--journalWaiterCommits', `--${name}`]);
