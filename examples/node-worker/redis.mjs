// As much of Redis's protocol as a worker needs; any client of your language does the same.
import net from 'node:net';

export class Redis {
  constructor(url) {
    const { hostname, port } = new URL(url);
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
