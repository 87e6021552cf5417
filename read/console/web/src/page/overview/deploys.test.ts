import { describe, expect, it } from 'vitest';
import { deploysOf } from './deploys';

const reference = (slug: string, version: string) => ({ application: { slug }, application_revision: { version } });

describe('deployments', () => {
  it('names what each revision of an environment changed', () => {
    const marks = deploysOf('prod', [
      { id: '3', created_at: '2026-11-28T12:00:00Z', data: { references: { 'bot.revision': reference('bot', '8'), 'search.revision': reference('search', '1') } } },
      { id: '1', created_at: '2026-11-28T10:00:00Z' },
      { id: '2', created_at: '2026-11-28T11:00:00Z', data: { references: { 'bot.revision': reference('bot', '7'), 'search.revision': reference('search', '1') } } },
    ]);
    expect(marks.map((m) => m.text)).toEqual(['deploy bot v7 → prod', 'deploy search v1 → prod', 'deploy bot v8 → prod']);
    expect(marks[2]!.at).toBe(BigInt(Date.parse('2026-11-28T12:00:00Z')) * 1_000_000n);
  });
  it('falls back to the key of a reference', () => {
    expect(deploysOf('prod', [{ id: '1', created_at: '2026-11-28T10:00:00Z', data: { references: { 'x.revision': {} } } }])[0]!.text).toBe('deploy x → prod');
    expect(deploysOf('prod', [])).toEqual([]);
  });
});
