import { describe, expect, it } from 'vitest';
import { readConversation, safeImage, safeLink, sameStart, textOf } from './message';

describe('conversations', () => {
  it('reads the one shape of model calls', () => {
    const c = readConversation({
      inputs: { prompt: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: [{ type: 'text', text: 'What is this?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }] },
      outputs: { completion: [{ role: 'assistant', content: null, thinking: 'Hm.', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }] }] },
    })!;
    expect(c.input.map((m) => [m.role, textOf(m), m.parts.length])).toEqual([['system', 'Be brief.', 1], ['user', 'What is this?', 2]]);
    expect(c.output).toEqual([{ role: 'assistant', parts: [], calls: [{ id: 'c1', name: 'look', arguments: { at: 1 } }], thinking: 'Hm.' }]);
  });
  it.each<[string, unknown, string]>([
    ['choices', { inputs: { messages: [{ role: 'user', content: 'hi' }] }, outputs: { choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }] } }, 'hello'],
    ['content', { inputs: { messages: [{ role: 'user', content: 'hi' }] }, outputs: { content: 'hello', toolCalls: [{ toolName: 'x', args: {} }] } }, 'hello'],
    ['a text', { inputs: { prompt: [{ role: 'user', content: 'hi' }] }, outputs: 'hello' }, 'hello'],
    ['one message', { outputs: { completion: { role: 'assistant', content: 'hello' } } }, 'hello'],
    ['parts of Anthropic', { outputs: { completion: [{ role: 'assistant', content: [{ type: 'text', text: 'hello' }, { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }] }] } }, 'hello'],
  ])('reads %s', (_, data, want) => expect(textOf(readConversation(data)!.output[0]!)).toBe(want));
  it('is none where there are no messages', () => {
    for (const data of [null, 'x', {}, { inputs: { country: 'France' }, outputs: 'Paris' }, { inputs: { prompt: 'a text' } }, { inputs: { messages: [1, 2] } }]) expect(readConversation(data)).toBeNull();
  });
  it('knows a history that is sent again', () => {
    const messages = readConversation({ inputs: { prompt: ['a', 'b', 'c'].map((content) => ({ role: 'user', content })) } })!.input;
    expect(sameStart(messages, messages.slice(0, 2))).toBe(2);
    expect(sameStart(messages, messages.slice(1))).toBe(0);
  });
  it('shows and follows nothing that may harm', () => {
    for (const url of ['javascript:alert(1)', ' javascript:x', 'data:text/html,x', 'vbscript:x', 'file:///etc', 'x', '', '//x/y', 'JaVaScRiPt:x']) expect(safeLink(url), url).toBeNull();
    expect(safeLink('https://example.com/a?b=c')).toBe('https://example.com/a?b=c');
    for (const url of ['https://x/y.png', 'data:image/svg+xml;base64,AA==', 'data:text/html;base64,AA==', `data:image/png;base64,${'A'.repeat(7_000_001)}`]) expect(safeImage(url)).toBeNull();
    expect(safeImage('data:image/png;base64,AA==')).not.toBeNull();
  });
});
