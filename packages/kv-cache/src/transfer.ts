/**
 * A movement of one block's bytes, to be done by the runner. All transfers of a step run BEFORE its forward pass;
 * their order within the step does not matter (no block is the destination of two, or source of one and destination
 * of another).
 *
 * `copy`: within the device pool, from block `src` to block `dst`, all layers, all token slots.
 */
export interface Transfer {
  readonly kind: 'copy';
  readonly src: number;
  readonly dst: number;
}
