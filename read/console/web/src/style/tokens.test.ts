import { describe, expect, it } from 'vitest';
import css from './tokens.css?raw';

type Theme = 'light' | 'dark';

function token(name: string, theme: Theme): [number, number, number] {
  const value = new RegExp(`--${name}:\\s*([^;]+);`).exec(css)?.[1] ?? '';
  const colours = [...value.matchAll(/oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/g)];
  const colour = colours[theme === 'dark' && colours.length > 1 ? 1 : 0];
  if (!colour) throw new Error(`no colour --${name}`);
  return [Number(colour[1]), Number(colour[2]), Number(colour[3])];
}

// Source: CSS Color 4, sample code of OKLCH; WCAG 2.2, relative luminance.
function luminance([l, c, h]: [number, number, number]): number {
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clip = (v: number) => Math.min(1, Math.max(0, v));
  const red = clip(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z);
  const green = clip(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z);
  const blue = clip(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string, theme: Theme): number {
  const [high, low] = [luminance(token(one, theme)), luminance(token(other, theme))].toSorted((a, b) => b - a) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const grounds = ['ground', 'surface', 'raised', 'sunken', 'hover', 'chosen'];
const types = ['workflow', 'agent', 'chain', 'task', 'tool', 'llm', 'chat', 'completion', 'embedding', 'query', 'rerank', 'unknown'].map((t) => `type-${t}`);

describe.each(['light', 'dark'] as const)('%s theme', (theme) => {
  it.each(['text', 'text-2', 'text-3', 'accent', 'bad', 'warn', 'good', ...types])('%s is readable on every ground', (text) => {
    for (const ground of grounds) expect(contrast(text, ground, theme), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
  });
  it('is readable on soft and filled grounds', () => {
    for (const name of ['bad', 'warn', 'good']) expect(contrast(name, `${name}-soft`, theme), name).toBeGreaterThanOrEqual(4.5);
    expect(contrast('accent', 'accent-soft', theme)).toBeGreaterThanOrEqual(4.5);
    expect(contrast('text', 'accent-soft', theme)).toBeGreaterThanOrEqual(4.5);
    expect(contrast('accent-text', 'accent-fill', theme)).toBeGreaterThanOrEqual(4.5);
    expect(contrast('accent-text', 'bad-fill', theme)).toBeGreaterThanOrEqual(4.5);
  });
  it('shows series and borders of controls', () => {
    for (let i = 1; i <= 8; i++) expect(contrast(`series-${i}`, 'surface', theme), `series ${i}`).toBeGreaterThanOrEqual(3);
    for (const ground of ['ground', 'surface', 'raised']) expect(contrast('line-strong', ground, theme)).toBeGreaterThanOrEqual(3);
  });
});
