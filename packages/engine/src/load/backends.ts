import { createReferenceBackend } from '@dsi/graph';
import { createCpuBackend, nativeStatus, type Backend } from '@dsi/kernels';
import { BackendUnavailableError } from '../errors/lifecycle-errors.js';
import type { BackendChoice } from './engine-options.js';

export interface ChosenBackend {
  readonly backend: Backend;
  readonly notices: readonly string[];
}

/**
 * The backend asked for. Nothing else is taken in its place, unless the choice is `auto`, and then a notice says so.
 * @throws BackendUnavailableError with the reason of every candidate
 */
export function chooseBackend(choice: BackendChoice, threads: number | undefined): ChosenBackend {
  if (choice === 'reference') return { backend: createReferenceBackend(), notices: [] };
  const status = nativeStatus();
  if (status.available) {
    return { backend: createCpuBackend(threads === undefined ? {} : { threads }), notices: [] };
  }
  const candidates = status.candidates.map(({ source, reason, remedy }) => ({
    name: source,
    reason: `${reason} -> ${remedy}`,
  }));
  if (choice === 'cpu') throw new BackendUnavailableError({ backend: 'cpu', candidates });
  const reasons = candidates.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  return {
    backend: createReferenceBackend(),
    notices: [`the native kernels do not load, so the slow reference backend runs (${reasons})`],
  };
}
