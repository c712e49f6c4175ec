import { createHash } from 'node:crypto';
import { readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../test/temporary.js';
import { ModelNotFoundError } from '../errors.js';
import { downloadFromHub, parseHubId } from './download-from-hub.js';
import type { DownloadProgress } from './download-progress.js';
import { HubChecksumError, HubError, HubNotFoundError, HubOfflineError, HubUnauthorizedError } from './errors.js';
import { resolveModel } from './resolve-model.js';

const commit = 'a'.repeat(40);

/** A hub on 127.0.0.1 with two repositories, whose faults a test can switch on. */
class LocalHub {
  readonly requests: { path: string; range: string | undefined; authorization: string | undefined }[] = [];
  readonly files = new Map<string, Map<string, Buffer>>();
  /** Called before a file is sent; returns true if it dealt with the answer. */
  intercept: (path: string, request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  requireToken: string | undefined;
  ranges = true;
  wrongDigests = false;
  private server!: Server;

  async start(): Promise<string> {
    this.server = createServer((request, response) => this.answer(request, response));
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  fetched(): string[] {
    return this.requests.filter((r) => r.path.includes('/resolve/')).map((r) => r.path.split(`/${commit}/`)[1]!);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(request.url!, 'http://x').pathname);
    this.requests.push({ path, range: request.headers.range, authorization: request.headers.authorization });
    const status = (code: number, body = ''): void => void response.writeHead(code).end(body);
    if (this.requireToken !== undefined && request.headers.authorization !== `Bearer ${this.requireToken}`)
      return status(401);
    if (this.intercept(path, request, response)) return;
    const [, repo, rest] = /^\/(?:api\/models\/)?([^/]+\/[^/]+)\/(.+)$/.exec(path) ?? [];
    const files = this.files.get(repo ?? '');
    if (files === undefined) return status(404);
    if (rest!.startsWith('revision/')) {
      if (rest !== 'revision/main') return status(404);
      return status(200, JSON.stringify({ sha: commit }));
    }
    if (rest!.startsWith('tree/')) return this.tree(files, new URL(request.url!, 'http://x'), response);
    const data = files.get(rest!.slice(`resolve/${commit}/`.length));
    if (data === undefined) return status(404);
    const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
    if (from === undefined || !this.ranges) return void response.writeHead(200).end(data);
    response.writeHead(206, { 'content-range': `bytes ${from}-${data.length - 1}/${data.length}` });
    response.end(data.subarray(Number(from)));
  }

  /** Two files a page. */
  private tree(files: Map<string, Buffer>, url: URL, response: ServerResponse): void {
    const page = Number(url.searchParams.get('page') ?? 0);
    const all = [...files].map(([path, data]) => {
      const git = createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex');
      if (!/\.(safetensors|gguf)$/.test(path)) return { type: 'file', path, size: data.length, oid: git };
      const sha = this.wrongDigests ? 'b'.repeat(64) : createHash('sha256').update(data).digest('hex');
      return { type: 'file', path, size: data.length, oid: git, lfs: { oid: sha, size: data.length } };
    });
    url.searchParams.set('page', String(page + 1));
    const more = all.length > 2 * page + 2;
    response.writeHead(
      200,
      more
        ? {
            link: `<http://${'127.0.0.1'}:${(this.server.address() as AddressInfo).port}${url.pathname}${url.search}>; rel="next"`,
          }
        : {},
    );
    response.end(JSON.stringify([{ type: 'directory', path: 'sub' }, ...all.slice(2 * page, 2 * page + 2)]));
  }
}

const weights = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7919) >> 3));
const temporary = temporaryDirectory();
let hub: LocalHub;
let endpoint: string;
let cacheDir: string;
let counter = 0;

const options = (extra: object = {}) => ({ endpoint, cacheDir, env: {}, wait: async () => {}, ...extra });

beforeEach(async () => {
  hub = new LocalHub();
  hub.files.set(
    'org/model',
    new Map([
      ['README.md', Buffer.from('read me')],
      ['config.json', Buffer.from('{"model_type":"llama"}')],
      ['model.safetensors', weights],
      ['tokenizer.json', Buffer.from('{}')],
      ['onnx/model.safetensors', Buffer.from('not this one')],
    ]),
  );
  hub.files.set(
    'org/ggufs',
    new Map([
      ['m-Q4_K_M.gguf', Buffer.from('four')],
      ['m-Q4_K_S.gguf', Buffer.from('small')],
      ['m-Q8_0.gguf', Buffer.from('eight')],
      ['mmproj-m-Q8_0.gguf', Buffer.from('vision')],
      ['BF16/m-BF16-00002-of-00002.gguf', Buffer.from('second')],
      ['BF16/m-BF16-00001-of-00002.gguf', Buffer.from('first')],
    ]),
  );
  endpoint = await hub.start();
  cacheDir = temporary.path(`cache-${counter++}`);
});
afterEach(() => hub.stop());

describe('downloadFromHub', () => {
  it('fetches what a model directory needs into the shared cache layout', async () => {
    const path = await downloadFromHub('org/model', options());
    expect(path).toBe(join(cacheDir, 'models--org--model', 'snapshots', commit));
    expect(hub.fetched().toSorted()).toEqual(['config.json', 'model.safetensors', 'tokenizer.json']);
    expect(await readFile(join(path, 'model.safetensors'))).toEqual(weights);
    const sha = createHash('sha256').update(weights).digest('hex');
    expect(await readlink(join(path, 'model.safetensors'))).toBe(join('..', '..', 'blobs', sha));
    expect(await readFile(join(cacheDir, 'models--org--model', 'refs', 'main'), 'utf8')).toBe(commit);
  });

  it('does not fetch again what is there', async () => {
    await downloadFromHub('org/model', options());
    hub.requests.length = 0;
    await downloadFromHub('org/model', options());
    expect(hub.fetched()).toEqual([]);
  });

  it('reports progress up to the total', async () => {
    const seen: DownloadProgress[] = [];
    await downloadFromHub('org/model', options({ onProgress: (p: DownloadProgress) => seen.push(p) }));
    expect(seen.at(-1)).toMatchObject({ doneBytes: weights.length + 24, totalBytes: weights.length + 24 });
    for (let i = 1; i < seen.length; i++) expect(seen[i]!.doneBytes).toBeGreaterThanOrEqual(seen[i - 1]!.doneBytes);
  });

  it.each([
    ['Q4_K_M', 'm-Q4_K_M.gguf', 'four'],
    ['q4_k_s', 'm-Q4_K_S.gguf', 'small'],
    ['Q8_0', 'm-Q8_0.gguf', 'eight'],
  ])('takes the GGUF file of %s', async (quantization, file, contents) => {
    const path = await downloadFromHub(`org/ggufs:${quantization}`, options());
    expect(path.endsWith(file)).toBe(true);
    expect(await readFile(path, 'utf8')).toBe(contents);
    expect(hub.fetched()).toEqual([file]);
  });

  it('takes all files of a split GGUF, and Q4_K_M without a wish', async () => {
    const path = await downloadFromHub('org/ggufs:BF16', options());
    expect(path.endsWith('BF16/m-BF16-00001-of-00002.gguf')).toBe(true);
    expect(await readFile(join(dirname(path), 'm-BF16-00002-of-00002.gguf'), 'utf8')).toBe('second');
    expect((await downloadFromHub('org/ggufs', options())).endsWith('m-Q4_K_M.gguf')).toBe(true);
  });

  it('resumes where a broken connection ended', async () => {
    let broken = 0;
    hub.intercept = (path, _request, response) => {
      if (!path.endsWith('/model.safetensors') || broken >= 2) return false;
      const from = broken++ * 100_000;
      response.writeHead(from === 0 ? 200 : 206, {
        'content-length': weights.length - from,
        ...(from > 0 && { 'content-range': `bytes ${from}-${weights.length - 1}/${weights.length}` }),
      });
      response.write(weights.subarray(from, from + 100_000), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    const path = await downloadFromHub('org/model', options());
    expect(await readFile(join(path, 'model.safetensors'))).toEqual(weights);
    const ranges = hub.requests.filter((r) => r.path.endsWith('/model.safetensors')).map((r) => r.range);
    expect(ranges).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
  });

  it('starts over when the server does not do ranges', async () => {
    hub.ranges = false;
    const sha = createHash('sha256').update(weights).digest('hex');
    const blobs = join(cacheDir, 'models--org--model', 'blobs');
    await downloadFromHub('org/ggufs:Q8_0', options()); // makes the cache directory
    await import('node:fs/promises').then((fs) => fs.mkdir(blobs, { recursive: true }));
    await writeFile(join(blobs, `${sha}.incomplete`), weights.subarray(0, 1000));
    const path = await downloadFromHub('org/model', options());
    expect(await readFile(join(path, 'model.safetensors'))).toEqual(weights);
  });

  it('gives up after its attempts and keeps what it has', async () => {
    hub.intercept = (path, _request, response) => {
      if (!path.endsWith('/model.safetensors')) return false;
      response.writeHead(503).end();
      return true;
    };
    const waits: number[] = [];
    const failing = downloadFromHub(
      'org/model',
      options({ attempts: 3, wait: async (ms: number) => void waits.push(ms) }),
    );
    await expect(failing).rejects.toThrow(/HTTP 503 \(3 attempts\)/);
    expect(waits).toEqual([500, 1000]);
  });

  it('refuses contents with a wrong checksum and leaves nothing behind', async () => {
    hub.wrongDigests = true;
    await expect(downloadFromHub('org/model', options())).rejects.toBeInstanceOf(HubChecksumError);
    const blob = join(cacheDir, 'models--org--model', 'blobs', 'b'.repeat(64));
    await expect(stat(blob)).rejects.toThrow();
    await expect(stat(`${blob}.incomplete`)).rejects.toThrow();
  });

  it('tells unauthorised from not found', async () => {
    await expect(downloadFromHub('org/none', options())).rejects.toBeInstanceOf(HubNotFoundError);
    await expect(downloadFromHub('org/model', options({ revision: 'v9' }))).rejects.toBeInstanceOf(HubNotFoundError);
    await expect(downloadFromHub('org/ggufs:Q2_K', options())).rejects.toThrow(/no GGUF file for Q2_K. It has: .*Q8_0/);
    hub.requireToken = 'secret';
    await expect(downloadFromHub('org/model', options())).rejects.toBeInstanceOf(HubUnauthorizedError);
    await expect(downloadFromHub('org/model', options())).rejects.toMatchObject({ status: 401, repo: 'org/model' });
    await downloadFromHub('org/model', options({ env: { HF_TOKEN: 'secret' } }));
    expect(hub.requests.at(-1)!.authorization).toBe('Bearer secret');
  });

  it('works offline from the cache, and says what is missing', async () => {
    const offline = options({ env: { HF_HUB_OFFLINE: '1' } });
    await expect(downloadFromHub('org/model', offline)).rejects.toBeInstanceOf(HubOfflineError);
    const online = await downloadFromHub('org/model', options());
    await downloadFromHub('org/ggufs:Q8_0', options());
    hub.requests.length = 0;
    expect(await downloadFromHub('org/model', offline)).toBe(online);
    expect((await downloadFromHub('org/ggufs:Q8_0', offline)).endsWith('m-Q8_0.gguf')).toBe(true);
    await expect(downloadFromHub('org/ggufs:Q4_K_M', offline)).rejects.toBeInstanceOf(HubOfflineError);
    expect(hub.requests).toEqual([]);
  });

  it('stops when told to', async () => {
    const controller = new AbortController();
    hub.intercept = (path) => {
      if (!path.endsWith('/model.safetensors')) return false;
      controller.abort(new Error('enough'));
      return true;
    };
    await expect(downloadFromHub('org/model', options({ signal: controller.signal }))).rejects.toThrow('enough');
  });

  it('honours HF_ENDPOINT and HF_HOME', async () => {
    const env = { HF_ENDPOINT: `${endpoint}/`, HF_HOME: cacheDir };
    const path = await downloadFromHub('org/ggufs:Q8_0', { env });
    expect(path.startsWith(join(cacheDir, 'hub', 'models--org--ggufs'))).toBe(true);
  });

  it('refuses names that would leave the cache', async () => {
    hub.files.set('org/evil', new Map([['../../../evil-Q8_0.gguf', Buffer.from('x')]]));
    await expect(downloadFromHub('org/evil', options())).rejects.toBeInstanceOf(HubError);
    await expect(downloadFromHub('org/model', options({ revision: '../x' }))).rejects.toThrow(/is no revision/);
    for (const spec of ['../..', 'a/b/c', 'a', '', 'a/..', './a', 'a/b:c/d', '/etc/passwd'])
      expect(parseHubId(spec)).toBeUndefined();
  });
});

describe('resolveModel', () => {
  it('prefers what exists, then the hub', async () => {
    const file = await temporary.write('local.gguf', 'x');
    expect(await resolveModel(file, options())).toBe(file);
    expect((await resolveModel('org/ggufs:Q8_0', options())).endsWith('m-Q8_0.gguf')).toBe(true);
    await expect(resolveModel('not/here.gguf', options())).rejects.toBeInstanceOf(ModelNotFoundError);
    await expect(resolveModel('a b', options())).rejects.toBeInstanceOf(ModelNotFoundError);
  });
});
