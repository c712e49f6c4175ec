import { SchedulerStateError } from './errors.js';
import type { Sequence } from './sequence.js';
import type { StepOutput } from './step-plan.js';
import { MAX_TOKEN_ID } from './validate-request.js';

/**
 * Checks a step's outputs against what was planned, before anything changes.
 * @throws {SchedulerStateError} naming the request and the mismatch.
 */
export function validateOutputs(planned: readonly Sequence[], outputs: readonly StepOutput[]): void {
  let at = 0;
  for (const output of outputs) {
    while (at < planned.length && planned[at]!.id !== output.id) at++;
    const sequence = planned[at++];
    if (sequence === undefined) {
      throw new SchedulerStateError(
        `output for request ${output.id}: not planned in this step, or out of the plan's order`,
      );
    }
    const count = output.tokens.length;
    if (count === 0) continue;
    if (sequence.numComputed + sequence.numScheduled < sequence.numTokens) {
      throw new SchedulerStateError(`request ${output.id} got ${count} tokens in a step that gave it no logits`);
    }
    const left = sequence.maxTokens - sequence.numGenerated;
    if (count > left) {
      throw new SchedulerStateError(
        `request ${output.id} got ${count} tokens, but only ${left} of its maxTokens are left`,
      );
    }
    for (let i = 0; i < count; i++) {
      const token = output.tokens[i]!;
      if (!(Number.isInteger(token) && token >= 0 && token <= MAX_TOKEN_ID)) {
        throw new SchedulerStateError(`request ${output.id} got token id ${token}; ids are 0 to ${MAX_TOKEN_ID}`);
      }
    }
  }
}
