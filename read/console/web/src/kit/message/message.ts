// Messages of a model call, whatever convention sent them.

export type Part =
  | { type: 'text'; text: string }
  | { type: 'image'; url: string }
  | { type: 'audio'; data?: string; format?: string }
  | { type: 'file'; name: string }
  | { type: 'json'; value: unknown };

export interface ToolCall { id?: string; name: string; arguments: unknown }

export interface Message { role: string; parts: Part[]; calls: ToolCall[]; callId?: string; name?: string; thinking?: string }

type Json = Record<string, unknown>;

const isObject = (v: unknown): v is Json => typeof v === 'object' && v !== null && !Array.isArray(v);

/** readMessage reads one message; null where it is none. */
export function readMessage(value: unknown): Message | null {
  if (!isObject(value)) return null;
  const inner = isObject(value['message']) ? value['message'] : value; // a choice of a completion
  const { role } = inner;
  if (typeof role !== 'string' && !('content' in inner) && !('tool_calls' in inner) && !('toolCalls' in inner)) return null;
  const calls = readCalls(inner['tool_calls'] ?? inner['toolCalls']);
  const parts = readContent(inner['content'], calls);
  const thinking = inner['thinking'] ?? inner['reasoning_content'] ?? inner['reasoning'];
  const callId = inner['tool_call_id'] ?? inner['toolCallId'];
  return {
    role: typeof role === 'string' ? role : 'assistant', parts, calls,
    ...(typeof callId === 'string' && { callId }),
    ...(typeof inner['name'] === 'string' && { name: inner['name'] }),
    ...(typeof thinking === 'string' && thinking && { thinking }),
  };
}

function readContent(content: unknown, calls: ToolCall[]): Part[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [{ type: 'json', value: content }];
  return content.flatMap((part: unknown): Part[] => {
    if (typeof part === 'string') return [{ type: 'text', text: part }];
    if (!isObject(part)) return [{ type: 'json', value: part }];
    const { type } = part;
    if (typeof part['text'] === 'string' && (type === undefined || type === 'text' || type === 'input_text' || type === 'output_text')) return [{ type: 'text', text: part['text'] }];
    if (type === 'image_url' || type === 'input_image' || type === 'image') {
      const from = part['image_url'] ?? part['url'] ?? part['image'];
      const url = isObject(from) ? from['url'] : from;
      if (typeof url === 'string') return [{ type: 'image', url }];
    }
    if (type === 'input_audio' && isObject(part['input_audio'])) {
      const { data, format } = part['input_audio'];
      return [{ type: 'audio', ...(typeof data === 'string' && { data }), ...(typeof format === 'string' && { format }) }];
    }
    if (type === 'file') {
      const file = isObject(part['file']) ? part['file'] : part;
      return [{ type: 'file', name: String(file['filename'] ?? file['name'] ?? 'file') }];
    }
    if (type === 'tool_use' && typeof part['name'] === 'string') {
      calls.push({ name: part['name'], arguments: part['input'], ...(typeof part['id'] === 'string' && { id: part['id'] }) });
      return [];
    }
    return [{ type: 'json', value: part }];
  });
}

function readCalls(value: unknown): ToolCall[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((call: unknown): ToolCall[] => {
    if (!isObject(call)) return [];
    const f = isObject(call['function']) ? call['function'] : call;
    const name = f['name'] ?? call['toolName'];
    if (typeof name !== 'string') return [];
    return [{ name, arguments: unpacked(f['arguments'] ?? call['args'] ?? call['input']), ...(typeof call['id'] === 'string' ? { id: call['id'] } : typeof call['toolCallId'] === 'string' && { id: call['toolCallId'] }) }];
  });
}

// Arguments often are JSON within a string.
function unpacked(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

export interface Conversation { input: Message[]; output: Message[] }

/** readConversation reads the messages of a span's data; null where there are none, and JSON is shown instead. */
export function readConversation(data: unknown): Conversation | null {
  if (!isObject(data)) return null;
  const inputs = data['inputs'];
  const outputs = data['outputs'];
  const input = isObject(inputs) ? list(inputs['prompt'] ?? inputs['messages']) : list(inputs);
  let output: Message[] = [];
  if (isObject(outputs)) {
    output = list(outputs['completion'] ?? outputs['choices'] ?? outputs['messages']);
    if (!output.length && ('content' in outputs || 'toolCalls' in outputs || 'tool_calls' in outputs)) output = list([{ role: 'assistant', ...outputs }]);
  } else if (Array.isArray(outputs)) output = list(outputs);
  else if (typeof outputs === 'string' && input.length) output = [{ role: 'assistant', parts: [{ type: 'text', text: outputs }], calls: [] }];
  if (!input.length && !output.length) return null;
  return { input, output };
}

function list(value: unknown): Message[] {
  if (typeof value === 'string') return [];
  const items = Array.isArray(value) ? value : isObject(value) ? [value] : [];
  const read = items.map(readMessage);
  return read.every((m) => m !== null) ? (read as Message[]) : [];
}

/** textOf is what a message says, without pictures and calls. */
export function textOf(message: Message): string {
  return message.parts.map((p) => (p.type === 'text' ? p.text : p.type === 'json' ? JSON.stringify(p.value, null, 2) : '')).filter(Boolean).join('\n\n');
}

/** sameStart counts the messages at the beginning that two prompts share: a history that is sent again and again. */
export function sameStart(a: readonly Message[], b: readonly Message[]): number {
  let n = 0;
  while (n < a.length && n < b.length && JSON.stringify(a[n]) === JSON.stringify(b[n])) n++;
  return n;
}

/** safeImage gives the address of a picture that may be shown: data of at most 5 MiB. Others are links. */
export function safeImage(url: string): string | null {
  return /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/i.test(url) && url.length <= 7_000_000 ? url : null;
}

/** safeLink gives the address of a link that may be followed: http and https only. */
export function safeLink(url: string): string | null {
  try {
    const { protocol, href } = new URL(url);
    return protocol === 'https:' || protocol === 'http:' ? href : null;
  } catch {
    return null;
  }
}
