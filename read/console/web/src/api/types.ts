// Types of routes that deploy/openapi.yaml does not describe yet, and the few names
// that pages use of those that it does.

import type { components } from './schema';

export type Span = components['schemas']['SpansSpan'];

export interface Project {
  project_id: string;
  project_name: string;
  workspace_name: string;
  organization_name: string;
  role: string;
  permissions: string[];
  default?: boolean;
}

export interface Session {
  user: { id: string; email?: string; username?: string };
  projects: Project[];
  expires_at?: string;
  version: string;
  features: Partial<Record<'sql' | 'mcp' | 'tail' | 'invoke' | 'console', boolean>>;
}

export interface Windowing { oldest?: string; newest?: string; next?: string; limit?: number; order?: 'ascending' | 'descending'; interval?: number }

/** A list that was asked with select: a column for each field, all of one length. */
export interface Columns { count: number; columns: Record<string, readonly unknown[]>; windowing?: Windowing }

export interface Metric {
  count?: number; count_positive?: number; sum?: number; mean?: number; min?: number; max?: number;
  p50?: number; p90?: number; p95?: number; p99?: number; pcts?: Record<string, number>;
  hist?: { bin: number; count: number; interval: number[]; density: number }[];
  freq?: { value: unknown; count: number; density: number }[];
}
export interface Bucket {
  timestamp: string;
  interval?: number;
  metrics: Record<string, Metric>;
  groups?: { key: (string | null)[] | null; metrics: Record<string, Metric> }[];
}
export interface Analytics { count: number; buckets: Bucket[] }

/** A trace without payloads, in columns. Times are nanoseconds after start; -1 and null are absent. */
export interface Outline {
  trace_id: string;
  trace_type: string;
  complete: boolean;
  next: string | null;
  start: string;
  end: string;
  running: boolean;
  totals: { spans: number; errors: number | null; tokens_prompt: number | null; tokens_completion: number | null; tokens_total: number | null; cost: number | null };
  dictionaries: { name: string[]; type: string[]; model: string[]; service: string[] };
  columns: {
    span_id: string[]; parent: number[]; orphan: number[]; name: number[]; type: number[]; kind: number[]; status: number[];
    start_ns: number[]; duration_ns: number[]; tokens_prompt: (number | null)[]; tokens_completion: (number | null)[];
    cost: (number | null)[]; total_cost: (number | null)[]; errors: (number | null)[]; model: number[]; service: number[];
    links: number[]; events: number[]; annotations: number[]; bytes: number[];
  };
}

export interface Annotation {
  trace_id: string;
  span_id?: string;
  created_at?: string;
  created_by_id?: string;
  origin?: string;
  kind?: string;
  channel?: string;
  data?: { outputs?: Record<string, unknown> };
  references?: Record<string, { id?: string; slug?: string; version?: string }>;
  links?: Record<string, { trace_id: string; span_id?: string }>;
}

export interface RejectedSummary { count: number; reasons: { stage: string; reason: string; count: number; last?: string }[] }
