import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = new URL('../../', import.meta.url).pathname;

/** Files below the installed packages whose name passes, largest directories last, each content once. */
function collect(passes, limit) {
  const seen = new Set();
  let text = '';
  const walk = (directory) => {
    for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (text.length >= limit) return;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile() && passes(path)) {
        // Paragraphs that occur in many packages (licences) count once.
        for (const paragraph of readFileSync(path, 'utf8').split(/\n{2,}/)) {
          if (seen.has(paragraph)) continue;
          seen.add(paragraph);
          text += `${paragraph}\n\n`;
        }
      }
    }
  };
  for (const folder of ['node_modules', 'bench/node_modules']) {
    try {
      walk(join(ROOT, folder));
    } catch {
      // not installed
    }
  }
  return text.slice(0, limit);
}

/** A repeatable generator of numbers in [0, 1). */
function random(seed) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

/**
 * Chinese text that does not repeat: a walk over three-character contexts of TypeScript's Chinese messages, so words and
 * punctuation are real and sentences are new.
 */
function chinese(length) {
  const folder = join(ROOT, 'node_modules/typescript/lib');
  const source = ['zh-cn', 'zh-tw']
    .map((name) => JSON.parse(readFileSync(join(folder, name, 'diagnosticMessages.generated.json'), 'utf8')))
    .flatMap((messages) => Object.values(messages))
    .join('\n');
  const followers = new Map();
  for (let i = 0; i + 3 < source.length; i++) {
    const context = source.slice(i, i + 3);
    const list = followers.get(context);
    if (list === undefined) followers.set(context, [source[i + 3]]);
    else list.push(source[i + 3]);
  }
  const next = random(7);
  const parts = [];
  let context = source.slice(0, 3);
  for (let i = 0; i < length; i++) {
    const list = followers.get(context) ?? ['\n'];
    const character = list[Math.floor(next() * list.length)];
    parts.push(character);
    context = context.slice(1) + character;
    if (!followers.has(context)) context = source.slice(0, 3);
  }
  return parts.join('');
}

/** Markdown of the installed packages, then documentation prose. */
function english(limit) {
  const markdown = collect((path) => /\.(md|markdown)$/i.test(path) && statSync(path).size < 400_000, limit);
  return markdown.length < limit ? markdown + commentProse(limit - markdown.length) : markdown;
}

/** Prose of the documentation comments of a large API (service documentation in plain English), markup removed, each sentence block once. */
function commentProse(limit) {
  const folder = join(ROOT, 'bench/node_modules/@aws-sdk/client-ec2/dist-types');
  const seen = new Set();
  let text = '';
  const walk = (directory) => {
    for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (text.length >= limit) return;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.name.endsWith('.d.ts')) {
        for (const [, comment] of readFileSync(path, 'utf8').matchAll(/\/\*\*([\s\S]*?)\*\//g)) {
          const prose = comment
            .replace(/^\s*\* ?/gm, '')
            .replace(/<[^>]*>/g, '')
            .trim();
          if (prose.length < 40 || seen.has(prose)) continue;
          seen.add(prose);
          text += `${prose}\n\n`;
        }
      }
    }
  };
  walk(folder);
  return text.slice(0, limit);
}

/** The texts by name, each of up to `megabytes` MB of UTF-8, and no network needed. */
export function texts(megabytes) {
  const limit = megabytes * 1e6;
  return {
    english: english(limit),
    typescript: collect((path) => /\.d\.[cm]?ts$/.test(path), limit),
    chinese: chinese(limit / 3),
  };
}
