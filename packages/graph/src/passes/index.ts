import { eliminateSlices } from './eliminate-slices.js';
import { foldConstants } from './fold-constants.js';
import { fuseAddNorm } from './fuse-add-norm.js';
import { mergeLinears } from './merge-linears.js';
import type { Pass } from './pass.js';
import { removeDead } from './remove-dead.js';

/** What `compile` runs unless told otherwise, in order. */
export const defaultPasses: readonly Pass[] = [foldConstants, eliminateSlices, removeDead, fuseAddNorm, mergeLinears];
