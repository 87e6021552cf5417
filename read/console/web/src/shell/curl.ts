import { SERVICE } from './place';

/** curl writes a request so that it runs in a shell; the key comes from the environment. */
export function curl(route: string, body?: unknown): string {
  const ask = `curl -sS ${SERVICE}${route} \\\n  -H "Authorization: ApiKey $COLONNADE_API_KEY"`;
  if (body === undefined) return ask;
  const quoted = JSON.stringify(body).replaceAll("'", `'\\''`);
  return `${ask} \\\n  -H 'Content-Type: application/json' \\\n  -d '${quoted}'`;
}
