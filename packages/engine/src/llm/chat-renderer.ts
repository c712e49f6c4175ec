import type { Tokenizer } from '@dsi/tokenizer';
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
}
export interface ChatOptions {
  readonly tools?: readonly unknown[];
}
export interface RenderedChat {
  readonly text: string;
  readonly ids: Int32Array;
}
export class ChatRenderer {
  constructor(
    readonly tokenizer: Tokenizer,
    readonly template: string | undefined,
  ) {}
  get available(): boolean {
    return false;
  }
  render(_messages: readonly ChatMessage[], _options: ChatOptions): RenderedChat {
    throw new Error('wait');
  }
}
