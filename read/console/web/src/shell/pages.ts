// The pages that exist. An entry of the navigation appears with its page.

import { Activity } from 'lucide-react';
import type { Icon } from '../kit/button/button';

export interface Page { path: string; title: string; icon: Icon; key: string; group: number }

export const PAGES: readonly Page[] = [
  { path: '/traces', title: 'Traces', icon: Activity, key: 't', group: 0 },
];
