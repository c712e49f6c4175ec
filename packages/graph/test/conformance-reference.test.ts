import { afterAll, describe, test } from 'vitest';
import { createReferenceBackend } from '../src/index.js';
import { runOpConformance } from '../src/testing/index.js';

describe('reference backend', () => {
  runOpConformance(() => createReferenceBackend({ poisonArena: true }), { test, afterAll });
});
