// A worker in another language: it does the stage `letters.count` over Redis, without a database and without packages.
//   node worker.mjs redis://127.0.0.1:6379 stateward [credential.json]
// The messages are described in docs/reference/transport.md. Documents come inside them; a large one has `dataref`.
// The credential is what `stateward key worker create` wrote; with it, all that this worker reports is signed.
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from './redis.mjs';
const [url, prefix = 'stateward', file] = process.argv.slice(2);
const credential = file && JSON.parse(readFileSync(file, 'utf8'));
const name = `node-${process.pid}`, group = 'stateward', held = new Map();
const streams = ['high', 'normal', 'low'].map((each) => `${prefix}.work.letters.count.${each}`);
const reader = new Redis(url), writer = new Redis(url); // the reader is blocked while it waits for work

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
  const { work, document } = JSON.parse(body).data ?? {};
  if (!work) return; // `dataref` says where it is: without blob storage it is left to another worker
  held.set(token, { stream, work });
  const { record_id, version, delivery, stage, worker: assigned_to } = work;
  const answer = { record_id, version, delivery, assigned_to, stage, worker: name };
  if (document == null) { // larger than `transport.inline_bytes_max`: no result is better than that of an empty document
    const error_message = 'this worker reads documents inside messages only: raise transport.inline_bytes_max';
    Object.assign(answer, { error_code: 'DOCUMENT_NOT_SENT', error_message, is_retryable: false });
  } else {
    const words = Buffer.from(document, 'base64').toString().split(/\s+/).filter(Boolean);
    Object.assign(answer, { count: 1, items: [{ count: 1, data: [{ words: words.length }] }] }); // the domain work is these two lines
  }
  await report('stateward.result.v1', record_id, answer);
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
