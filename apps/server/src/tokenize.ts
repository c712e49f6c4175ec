import { z } from 'zod';
import { invalidField } from './http/api-error.js';
import { checkPromptSize, textLength } from './http/prompt-size.js';
import type { ServerContext } from './http/context.js';
import { readBody } from './http/read-body.js';
import { chatMessage } from './openai/chat-schema.js';
import { templateMessages } from './openai/messages.js';

const tokenizeRequest = z
  .strictObject({
    model: z.string().optional(),
    prompt: z.string().optional(),
    messages: z.array(chatMessage).min(1).optional(),
    add_special_tokens: z.boolean().optional(),
    parse_special: z.boolean().optional(),
    add_generation_prompt: z.boolean().optional(),
    continue_final_message: z.boolean().optional(),
    chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
    return_token_strs: z.boolean().optional(),
  })
  .refine((r) => (r.prompt === undefined) !== (r.messages === undefined), {
    path: ['prompt'],
    message: 'send either prompt or messages',
  });

const detokenizeRequest = z.strictObject({
  model: z.string().optional(),
  tokens: z.array(z.int().min(0)).max(1_000_000),
  skip_special_tokens: z.boolean().optional(),
});

function pick(context: ServerContext, name: string | undefined) {
  context.models.assertReady();
  return name === undefined ? context.models.list()[0]! : context.models.find(name);
}

/** POST /tokenize: `{prompt}` or `{messages}` -> `{count, max_model_len, tokens}` */
export async function tokenize(request: Request, context: ServerContext): Promise<Response> {
  const body = await readBody(request, tokenizeRequest, context.maxBodyBytes);
  const model = pick(context, body.model);
  checkPromptSize(model, body.prompt?.length ?? textLength(body.messages), body.messages ? 'messages' : 'prompt');
  let ids: Uint32Array;
  if (body.messages) {
    if (!model.hasChatTemplate) throw invalidField('messages', `${model.id} has no chat template; send prompt.`);
    try {
      const continueFinalMessage = body.continue_final_message ?? false;
      ids = model.renderChat(templateMessages(body.messages), {
        addGenerationPrompt: body.add_generation_prompt ?? !continueFinalMessage,
        continueFinalMessage,
        templateKwargs: body.chat_template_kwargs ?? {},
      }).ids;
    } catch (error) {
      throw invalidField(
        'messages',
        `The chat template refused these messages: ${(error as Error).message}`,
        'chat_template_error',
      );
    }
  } else {
    ids = model.encode(body.prompt!, {
      addSpecialTokens: body.add_special_tokens ?? true,
      parseSpecial: body.parse_special ?? true,
    });
  }
  return Response.json({
    count: ids.length,
    max_model_len: model.maxModelLen,
    tokens: [...ids],
    ...(body.return_token_strs ? { token_strs: [...ids].map((id) => model.tokenText(id)) } : {}),
  });
}

/** POST /detokenize: `{tokens}` -> `{prompt}` */
export async function detokenize(request: Request, context: ServerContext): Promise<Response> {
  const body = await readBody(request, detokenizeRequest, context.maxBodyBytes);
  const model = pick(context, body.model);
  body.tokens.forEach((id, i) => {
    if (id >= model.vocabSize) {
      throw invalidField(`tokens[${i}]`, `${id} is not a token id; the vocabulary has ${model.vocabSize} entries.`);
    }
  });
  return Response.json({ prompt: model.decode(body.tokens, { skipSpecialTokens: body.skip_special_tokens ?? false }) });
}
