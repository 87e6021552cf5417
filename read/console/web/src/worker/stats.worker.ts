import { compare, type Paired } from './stats';

self.addEventListener('message', (event: MessageEvent<{ id: number; scores: Paired[] }>) => {
  const { id, scores } = event.data;
  self.postMessage({ id, result: compare(scores) });
});
