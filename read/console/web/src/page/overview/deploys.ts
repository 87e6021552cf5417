// Deployments as marks on charts.

import type { Mark } from '../../kit/chart/series';
import { parseIso } from '../../url/time';

interface Reference { slug?: string; version?: string }
export interface EnvironmentRevision { id: string; version?: string; created_at: string; data?: { references?: Record<string, Record<string, Reference>> } }

/** deploysOf lists what each revision of an environment changed against the one before. */
export function deploysOf(environment: string, revisions: readonly EnvironmentRevision[]): Mark[] {
  const sorted = revisions.toSorted((a, b) => a.created_at.localeCompare(b.created_at));
  const name = (references: Record<string, Reference> | undefined, key: string) => {
    const kind = ['application', 'workflow', 'evaluator'].find((k) => references?.[`${k}_revision`]);
    const version = kind && references?.[`${kind}_revision`]?.version;
    return `${(kind && references?.[kind]?.slug) ?? key.replace(/\.revision$/, '')}${version ? ` v${version}` : ''}`;
  };
  return sorted.flatMap((revision, i) => {
    const now = revision.data?.references ?? {};
    const before = sorted[i - 1]?.data?.references ?? {};
    const at = parseIso(revision.created_at);
    if (at === undefined) return [];
    return Object.keys(now).filter((key) => JSON.stringify(now[key]) !== JSON.stringify(before[key])).map((key) => ({ at, text: `deploy ${name(now[key], key)} → ${environment}` }));
  });
}
