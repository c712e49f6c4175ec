// In the order of RowKernels.
rms_norm, add_rms_norm, silu_mul, add_rows, sigmoid_mul, softmax, sigmoid, rope_half, rope_interleaved, kv_store,
    keys_transpose, values_load, scores, chunk_softmax, weighted_values, merge, finish,
    scan, sum_exp, moments, philox,
