// The pages that exist. An entry of the navigation appears with its page.

import { Activity, ClipboardCheck, LayoutDashboard, MessagesSquare, Settings, ThumbsUp, Users } from 'lucide-react';
import type { Icon } from '../kit/button/button';

export interface Page { path: string; title: string; icon: Icon; key: string; group: number }

export const PAGES: readonly Page[] = [
  { path: '/', title: 'Overview', icon: LayoutDashboard, key: 'o', group: 0 },
  { path: '/traces', title: 'Traces', icon: Activity, key: 't', group: 0 },
  { path: '/sessions', title: 'Sessions', icon: MessagesSquare, key: 's', group: 0 },
  { path: '/users', title: 'Users', icon: Users, key: 'u', group: 0 },
  { path: '/feedback', title: 'Feedback', icon: ThumbsUp, key: 'f', group: 0 },
  { path: '/evaluations', title: 'Evaluations', icon: ClipboardCheck, key: 'r', group: 1 },
  { path: '/settings/project', title: 'Settings', icon: Settings, key: ',', group: 2 },
];
