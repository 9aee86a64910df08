// Loaded before programs that know only the usual port: sends their connections to MONGOD_PORT.
'use strict';

const net = require('net');

const USUAL = 27017;
const connect = net.Socket.prototype.connect;

net.Socket.prototype.connect = function(...words) {
    const options = Array.isArray(words[0]) ? words[0][0] : words[0];  // as net.connect() passes it
    if (options && typeof options === 'object' && Number(options.port) === USUAL) {
        options.port = Number(process.env.MONGOD_PORT);
        options.host = '127.0.0.1';
    }
    return connect.apply(this, words);
};
