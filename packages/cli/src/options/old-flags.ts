import { UsageError } from '../terminal/usage-error.js';

/** Flags of older guides and other servers: what they mean here. `null`: on by default, nothing to set. */
const aliases: Readonly<
  Record<string, { readonly flag: string | null; readonly takesValue: boolean; readonly note: string }>
> = {
  '--enable-radix-cache': { flag: null, takesValue: false, note: 'the radix prefix cache is on by default' },
  '--enable-prefix-caching': { flag: null, takesValue: false, note: 'the prefix cache is on by default' },
  '--enable-chunked-prefill': { flag: null, takesValue: false, note: 'chunked prefill is always on' },
  '--no-enable-prefix-caching': {
    flag: '--no-prefix-caching',
    takesValue: false,
    note: 'the flag is --no-prefix-caching',
  },
  '--scheduler-policy': { flag: '--scheduling-policy', takesValue: true, note: 'the flag is --scheduling-policy' },
};

/** Flags that ask for something this version does not do: refused with the reason. */
const refused: Readonly<Record<string, string>> = {
  '--speculative-model': 'speculative decoding is not part of this version',
  '--num-speculative-tokens': 'speculative decoding is not part of this version',
  '--swap-space': 'preemption recomputes; there is no swap space in this version',
  '--enable-moe': 'no server has such a flag: mixture-of-experts models run as they are',
  '--max-paddings': 'batches are not padded; use --max-num-batched-tokens',
  '--max-num-on-the-fly': 'no server has such a flag; use --max-num-seqs',
  '--lora-dataset': 'no server has such a flag: adapters are loaded, not trained',
};

/**
 * Replaces flags of older guides by today's, with a one-line notice each.
 * @throws UsageError for flags that cannot be honoured
 */
export function translateOldFlags(args: readonly string[], notice: (line: string) => void): string[] {
  const result: string[] = [];
  for (const arg of args) {
    const [name, value] = splitFlag(arg);
    const reason = refused[name];
    if (reason !== undefined) throw new UsageError(`${name}: ${reason}.`);
    const alias = aliases[name];
    if (!alias) {
      result.push(arg);
      continue;
    }
    notice(`${name}: ${alias.note}.`);
    if (alias.flag !== null) result.push(value === undefined ? alias.flag : `${alias.flag}=${value}`);
  }
  return result;
}

function splitFlag(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=');
  return arg.startsWith('--') && at > 0 ? [arg.slice(0, at), arg.slice(at + 1)] : [arg, undefined];
}
