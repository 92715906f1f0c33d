// A worker in another language: it does the stage `letters.count` over Redis, without a database and without packages.
//   node worker.mjs redis://127.0.0.1:6379 stateward [credential.json]
// The messages are described in docs/reference/transport.md. Documents come inside them; a large one has `dataref`.
// The credential is what `stateward key worker create` wrote; with it, all that this worker reports is signed.
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import net from 'node:net';
const [url, prefix = 'stateward', file] = process.argv.slice(2);
const credential = file && JSON.parse(readFileSync(file, 'utf8'));
const { hostname, port } = new URL(url);
const name = `node-${process.pid}`, group = 'stateward', held = new Map();
const streams = ['high', 'normal', 'low'].map((each) => `${prefix}.work.letters.count.${each}`);

class Redis { // as much of its protocol as is needed
  constructor() {
    this.waiting = []; this.buffer = Buffer.alloc(0);
    this.socket = net.connect(Number(port || 6379), hostname).on('data', (data) => {
      this.buffer = Buffer.concat([this.buffer, data]);
      for (let found; this.waiting.length && (found = parse(this.buffer, 0));) {
        this.buffer = this.buffer.subarray(found[1]);
        this.waiting.shift()(found[0]);
      }
    }).on('close', () => process.exit(1)); // a supervisor starts it again
  }
  call(...words) {
    const parts = words.map((each) => `$${Buffer.byteLength(String(each))}\r\n${each}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
function parse(buffer, at) { // [value, where the next one begins], or null while bytes are missing
  const end = buffer.indexOf('\r\n', at);
  if (end < 0) return null;
  const kind = String.fromCharCode(buffer[at]), text = buffer.toString('utf8', at + 1, end), next = end + 2;
  if (kind === '$' && text !== '-1') {
    return buffer.length < next + Number(text) + 2 ? null
      : [buffer.toString('utf8', next, next + Number(text)), next + Number(text) + 2];
  }
  if (kind !== '*' || text === '-1') return [text === '-1' ? null : kind === '-' ? new Error(text) : text, next];
  const values = [];
  let place = next;
  for (let left = Number(text); left > 0; left -= 1) {
    const found = parse(buffer, place);
    if (!found) return null;
    values.push(found[0]); place = found[1];
  }
  return [values, place];
}
const reader = new Redis(), writer = new Redis(); // the reader is blocked while it waits for work

function report(type, subject, data) {
  const id = `${name}-${Date.now()}-${Math.random()}`, source = `/workers/${name}`, time = new Date().toISOString();
  const event = { specversion: '1.0', id, source, type, subject, time, data };
  if (credential) { // `data` is signed as the bytes that stand in the message: JSON.stringify writes it alone as it does inside
    const digest = createHash('sha256').update(JSON.stringify(data)).digest('hex');
    const lines = [type, id, source, subject, time, digest].join('\n');
    event.keyid = credential.id;
    event.signature = createHmac('sha256', credential.secret).update(lines).digest('hex');
  }
  return writer.call('XADD', `${prefix}.results`, '*', 'body', JSON.stringify(event));
}
async function beat() { // every third of a lease: who is here, and what it still works on
  for (const [token, { stream }] of held) await writer.call('XCLAIM', stream, group, name, 0, token, 'JUSTID');
  const holding = [...held.values()].map(({ work }) => [work.record_id, work.version, work.delivery]);
  await report('stateward.heartbeat.v1', name, { worker: name, runners: ['letters.count'], slots: 1, holding });
}
async function handle(stream, token, body) {
  const { work, document } = JSON.parse(body).data;
  held.set(token, { stream, work });
  const words = Buffer.from(document ?? '', 'base64').toString().split(/\s+/).filter(Boolean);
  const items = [{ count: 1, data: [{ words: words.length }] }]; // the domain work is these two lines
  const { record_id, version, delivery, stage, worker: assigned_to } = work;
  await report('stateward.result.v1', record_id, { record_id, version, delivery, assigned_to, stage, worker: name, count: 1, items });
  await writer.call('XACK', stream, group, token); // after the result: a crash in between costs a second run
  await writer.call('XDEL', stream, token);
  held.delete(token);
}
for (const stream of streams) await writer.call('XGROUP', 'CREATE', stream, group, 0, 'MKSTREAM');
await beat();
setInterval(beat, Number(process.env.HEARTBEAT_MS ?? 5000));
for (;;) {
  for (const stream of streams) { // what a lost worker had
    const [, left = []] = await reader.call('XAUTOCLAIM', stream, group, name, Number(process.env.LEASE_MS ?? 15000), '0', 'COUNT', 1);
    for (const [token, fields] of left) if (!held.has(token)) await handle(stream, token, fields[1]);
  }
  const found = await reader.call('XREADGROUP', 'GROUP', group, name, 'COUNT', 1, 'BLOCK', 1000, 'STREAMS', ...streams, ...streams.map(() => '>'));
  for (const [stream, entries] of found ?? []) for (const [token, fields] of entries) await handle(stream, token, fields[1]);
}
