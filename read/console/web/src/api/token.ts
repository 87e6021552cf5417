// Tokens of writes. For half a minute after a write its token is sent with every
// read, which then waits until what was written is visible. All tabs share them.
// No client reads a token: the service merges several, so they are joined by commas.

const KEPT = 30_000;
const MOST = 16;

interface Kept { token: string; until: number }

export class Tokens {
  private kept: Kept[] = [];
  private readonly channel: BroadcastChannel | undefined;

  constructor(private readonly now: () => number = Date.now, channel?: BroadcastChannel) {
    this.channel = channel;
    if (channel) channel.onmessage = (event: MessageEvent<unknown>) => {
      if (typeof event.data === 'string') this.keep(event.data);
    };
  }

  /**
   * written keeps the token of a write. It replaces those that the write itself
   * carried, because the answer's token is of all of them.
   */
  written(token: string, carried: string | undefined): void {
    if (carried !== undefined) {
      const replaced = new Set(carried.split(','));
      this.kept = this.kept.filter((k) => !replaced.has(k.token));
    }
    this.keep(token);
    this.channel?.postMessage(token);
  }

  private keep(token: string): void {
    this.kept = this.kept.filter((k) => k.token !== token);
    this.kept.push({ token, until: this.now() + KEPT });
    if (this.kept.length > MOST) this.kept.splice(0, this.kept.length - MOST);
  }

  /** header is what the next request carries; undefined where nothing was written of late. */
  header(): string | undefined {
    const now = this.now();
    this.kept = this.kept.filter((k) => k.until > now);
    return this.kept.length ? this.kept.map((k) => k.token).join(',') : undefined;
  }

  clear(): void {
    this.kept = [];
  }
}
