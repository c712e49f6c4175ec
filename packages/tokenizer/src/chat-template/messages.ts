import { toJsonText } from './python-text.js';
import { plain } from './marked-text.js';
import { fromJson } from './values.js';

/** A chat message: `role`, `content`, and whatever else the template reads. */
export type ChatMessage = Readonly<Record<string, unknown>>;

/** How a template wants tool calls. */
export interface ToolCallNeeds {
  /** `arguments` as a dictionary, as JSON text, or either. */
  readonly arguments: 'object' | 'string' | 'any';
  /** Content next to tool calls: null, empty text, or either. */
  readonly emptyContent: 'null' | 'string' | 'any';
}

const PROBE_KEY = 'probe_key';

/** Finds out what a template needs by rendering a tool call in each form. */
export function detectToolCallNeeds(
  render: (messages: readonly ChatMessage[], tools: unknown) => string,
): ToolCallNeeds {
  const works = (content: string | null, args: unknown): boolean => {
    try {
      const text = render(probe(content, args), [PROBE_TOOL]);
      // A dictionary printed by Python, or JSON text encoded a second time, is not what the template means.
      return text.includes(PROBE_KEY) && !text.includes(`'${PROBE_KEY}'`) && !text.includes(`\\"${PROBE_KEY}\\"`);
    } catch {
      return false;
    }
  };
  const object = { [PROBE_KEY]: 'probe_value' };
  const string = JSON.stringify(object);
  const nullObject = works(null, object);
  const nullString = works(null, string);
  const emptyObject = works('', object);
  const emptyString = works('', string);
  return {
    arguments: choose(nullObject || emptyObject, nullString || emptyString, 'object', 'string'),
    // A template that ignores tool calls prints the content, where null would show as "None".
    emptyContent:
      nullObject || nullString || emptyObject || emptyString
        ? choose(nullObject || nullString, emptyObject || emptyString, 'null', 'string')
        : 'string',
  };
}

function choose<A, B>(first: boolean, second: boolean, a: A, b: B): A | B | 'any' {
  if (first === second) return 'any';
  return first ? a : b;
}

const PROBE_TOOL = {
  type: 'function',
  function: { name: 'probe_tool', description: 'd', parameters: { type: 'object', properties: {}, required: [] } },
};

function probe(content: string | null, args: unknown): ChatMessage[] {
  const call = { id: 'call00000', type: 'function', function: { name: 'probe_tool', arguments: args } };
  return [
    { role: 'user', content: 'q' },
    { role: 'assistant', content, tool_calls: [call] },
    { role: 'tool', name: 'probe_tool', tool_call_id: 'call00000', content: 'r' },
  ];
}

/** The messages with their tool calls in the form that the template needs. The input is not modified. */
export function adaptToolCalls(messages: readonly ChatMessage[], needs: ToolCallNeeds): ChatMessage[] {
  return messages.map((message) => {
    const calls = message['tool_calls'];
    if (!Array.isArray(calls) || calls.length === 0) return message;
    const adapted: Record<string, unknown> = { ...message, tool_calls: calls.map((call) => adaptCall(call, needs)) };
    const content = message['content'];
    if (content === undefined || content === null || content === '') {
      if (needs.emptyContent === 'null') adapted['content'] = null;
      else if (needs.emptyContent === 'string') adapted['content'] = '';
      else adapted['content'] = content ?? null;
    }
    return adapted;
  });
}

function adaptCall(call: unknown, needs: ToolCallNeeds): unknown {
  if (typeof call !== 'object' || call === null) return call;
  const fields = call as Readonly<Record<string, unknown>>;
  const inner = fields['function'];
  if (typeof inner === 'object' && inner !== null) return { ...fields, function: adaptCall(inner, needs) };
  const args = fields['arguments'];
  if (needs.arguments === 'object' && typeof args === 'string') {
    const parsed = parseObject(args);
    return parsed === undefined ? call : { ...fields, arguments: parsed };
  }
  if (needs.arguments === 'string' && typeof args === 'object' && args !== null) {
    return { ...fields, arguments: pythonJson(args) };
  }
  return call;
}

function parseObject(text: string): object | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** JSON with Python's default separators, as the templates' own `tojson` writes it. */
function pythonJson(value: object): string {
  return plain(
    toJsonText(fromJson(value), {
      ensureAscii: false,
      indent: undefined,
      itemSeparator: ', ',
      keySeparator: ': ',
      sortKeys: false,
    }),
  );
}
