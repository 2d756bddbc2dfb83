// How numbers, times and sizes are written.
import { strings } from "./strings.ts";

const whole = new Intl.NumberFormat("en");

export const count = (n: number): string => whole.format(n);

export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** money writes dollars; small amounts keep the digits that tell them from nothing. */
export function money(usd: number | null): string {
  if (usd === null) return strings.unknownPrice;
  if (usd === 0) return "$0";
  if (usd < 0.01) return `$${usd.toPrecision(2).replace(/e.*/, "")}`.length > 10 ? "<$0.000001" : `$${Number(usd.toPrecision(2))}`;
  return `$${usd.toFixed(usd < 1 ? 3 : 2)}`;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

export const score = (n: number | null): string => (n === null ? "–" : n >= 10 ? n.toFixed(1) : n.toFixed(2));

/** ago writes how long something is past, for lists. */
export function ago(iso: string, now = Date.now()): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return strings.justNow;
  if (minutes < 60) return strings.minutesAgo(minutes);
  if (minutes < 24 * 60) return strings.hoursAgo(Math.floor(minutes / 60));
  return new Date(at).toLocaleDateString("en", { day: "numeric", month: "short", year: minutes > 300 * 24 * 60 ? "numeric" : undefined });
}
