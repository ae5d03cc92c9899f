// Workers that build objects, strings and buffers, and hand buffers over by copy, by transfer and shared.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const zlib = require('node:zlib');

function note() {
  fs.appendFileSync('inside', `${fs.readFileSync('/proc/self/maps', 'utf8').includes('libhakmem')}\n`);
}

function build(seed) {
  const map = new Map();
  let state = seed;
  for (let step = 0; step < 60000; step++) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    map.set(`key${state % 4001}`, { step, text: 'x'.repeat(state % 300), list: [state, String(state)] });
  }
  return createHash('sha256').update(JSON.stringify([...map])).digest('hex').slice(0, 16);
}

function worker() {
  const { seed, shared } = workerData;
  Atomics.add(new Int32Array(shared), 0, seed);
  const buffers = [];
  for (let size = 1; size < 2000000; size = size * 3 + seed) {
    buffers.push(Buffer.alloc(size, seed).buffer.slice(0));
  }
  const packed = zlib.deflateSync(Buffer.from('worker '.repeat(50000 + seed)));
  parentPort.once('message', (copy) => {
    const handed = new Uint8Array(300000).fill(copy.length % 251).buffer;
    const sizes = buffers.map((buffer) => buffer.byteLength);
    parentPort.postMessage({ seed, digest: build(seed), packed: packed.length, sizes, handed }, [handed]);
  });
}

async function main() {
  note();
  const shared = new SharedArrayBuffer(64);
  const results = await Promise.all([1, 2, 3, 4].map((seed) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { seed, shared } });
    let result;
    worker.once('message', (message) => { result = message; });
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve(result) : reject(new Error(`exit code ${code}`))));
    worker.postMessage(Buffer.alloc(100000 + seed, seed));
  })));
  for (const { seed, digest, packed, sizes, handed } of results) {
    console.log(seed, digest, packed, sizes.join(), createHash('md5').update(Buffer.from(handed)).digest('hex'));
  }
  console.log(new Int32Array(shared)[0], build(9));
  const script = "require('./workers.js').note(); console.log(Buffer.allocUnsafeSlow(1 << 20).fill(5).length)";
  console.log(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }).trim());
}

module.exports = { note };
if (!isMainThread) {
  worker();
} else if (require.main === module) {
  main();
}
