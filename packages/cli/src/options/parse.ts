import { InvalidArgumentError } from 'commander';

/** An integer option in a range. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
    }
    return value;
  };
}

export function number(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
    return value;
  };
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

/** `512MiB`, `4G`, `1e9` bytes. */
export function bytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?(?:e\d+)?)\s*([a-z]*)$/i.exec(text);
  const unit = match && units[match[2]!.toUpperCase()];
  const value = match && unit ? Math.floor(Number(match[1]) * unit) : NaN;
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new InvalidArgumentError('It must be a size such as 512MiB or 4GiB.');
  return value;
}
