import { z } from 'zod';
import { acceptedFields, samplingFields, streamFields, unsupported } from './sampling-schema.js';

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), z.array(textPart)], {
  error: 'a string, or an array of {"type":"text","text":...} parts',
});

const toolCall = z.strictObject({
  id: z.string().optional(),
  index: z.int().optional(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});

const systemMessage = z.strictObject({ role: z.enum(['system', 'developer']), content, name: z.string().optional() });
const userMessage = z.strictObject({ role: z.literal('user'), content, name: z.string().optional() });
const assistantMessage = z.strictObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  name: z.string().optional(),
  refusal: z.null().optional(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
  prefix: z.boolean().optional(),
});
const toolMessage = z.strictObject({
  role: z.literal('tool'),
  content,
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
});

export const chatMessage = z.discriminatedUnion('role', [systemMessage, userMessage, assistantMessage, toolMessage], {
  error: 'role must be one of system, developer, user, assistant, tool',
});

/** POST /v1/chat/completions */
export const chatRequest = z
  .strictObject({
    model: z.string(),
    messages: z.array(chatMessage).min(1).max(10_000),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    add_generation_prompt: z.boolean().nullish(),
    continue_final_message: z.boolean().nullish(),
    chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
    tools: unsupported('tools'),
    tool_choice: unsupported('tool_choice', 'none', 'auto'),
    parallel_tool_calls: unsupported('parallel_tool_calls', true, false),
    functions: unsupported('functions'),
    function_call: unsupported('function_call', 'none', 'auto'),
    response_format: z
      .strictObject({ type: z.literal('text', { error: 'only {"type":"text"} is supported by this server' }) })
      .nullish(),
    modalities: z.array(z.literal('text')).nullish(),
    audio: unsupported('audio'),
    prediction: unsupported('prediction'),
    reasoning_effort: unsupported('reasoning_effort'),
    verbosity: unsupported('verbosity', 'medium'),
    web_search_options: unsupported('web_search_options'),
    ...samplingFields,
    ...streamFields,
    ...acceptedFields,
  })
  .refine((r) => !(r.top_logprobs != null && r.logprobs !== true), {
    path: ['top_logprobs'],
    message: 'needs "logprobs": true',
  })
  .refine((r) => r.stream_options == null || r.stream === true, {
    path: ['stream_options'],
    message: 'needs "stream": true',
  })
  .refine((r) => r.max_tokens == null || r.max_completion_tokens == null || r.max_tokens === r.max_completion_tokens, {
    path: ['max_tokens'],
    message: 'differs from max_completion_tokens; send one of them',
  });

export type ChatRequest = z.output<typeof chatRequest>;
export type ChatMessage = z.output<typeof chatMessage>;
