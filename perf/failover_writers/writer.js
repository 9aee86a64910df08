// The same as writer.c by the Node.js driver: DRIVER URI CONCERN.
'use strict';

const [driver, uri, w] = process.argv.slice(2);
const {MongoClient} = require(driver);
const now = () => (Number(process.hrtime.bigint()) / 1e9).toFixed(6);

async function main() {
    const client = new MongoClient(uri);
    const c = client.db('failover').collection('c', {writeConcern: {w: w === '1' ? 1 : w}});
    for (;;) {
        const begun = now();
        try {
            await c.insertOne({});
            console.log(`${begun} ${now()}`);
        } catch {
            // It is tried again.
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
    }
}

main();
