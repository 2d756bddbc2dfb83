// Formatting of numbers, times and sizes in the language of the page.
import { locale } from "./lang.ts";
import { strings } from "./strings.ts";

const cache = new Map<string, Intl.NumberFormat>();

function number(n: number, options: Intl.NumberFormatOptions): string {
  const key = JSON.stringify(options);
  const format = cache.get(key) ?? new Intl.NumberFormat(locale, options);
  cache.set(key, format);
  return format.format(n);
}

export const count = (n: number): string => number(n, { maximumFractionDigits: 0 });

export const digits = (n: number, after: number): string => number(n, { minimumFractionDigits: after, maximumFractionDigits: after });

export const percent = (part: number): string => number(part, { style: "percent", maximumFractionDigits: 0 });

const unit = (n: number, name: string, after = 0): string => number(n, { style: "unit", unit: name, unitDisplay: "short", minimumFractionDigits: after, maximumFractionDigits: after });

export function duration(ms: number): string {
  if (ms < 1) return `<${unit(1, "millisecond")}`;
  if (ms < 1000) return unit(ms, "millisecond");
  if (ms < 60_000) return unit(ms / 1000, "second", ms < 10_000 ? 1 : 0);
  return `${unit(Math.floor(ms / 60_000), "minute")} ${unit(Math.floor((ms % 60_000) / 1000), "second")}`;
}

const dollars = (usd: number, options: Intl.NumberFormatOptions): string => number(usd, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", ...options });

/** money formats US dollars; small amounts keep enough digits not to be rounded to zero. */
export function money(usd: number | null): string {
  if (usd === null) return strings.unknownPrice;
  if (usd === 0) return dollars(0, { maximumFractionDigits: 0 });
  if (usd < 0.000001) return `<${dollars(0.000001, { maximumFractionDigits: 6 })}`;
  if (usd < 0.01) return dollars(usd, { maximumSignificantDigits: 2 });
  return dollars(usd, { minimumFractionDigits: 2, maximumFractionDigits: usd < 1 ? 3 : 2 });
}

export function size(bytes: number): string {
  if (bytes < 1000) return number(bytes, { style: "unit", unit: "byte", unitDisplay: "long" });
  if (bytes < 1e6) return unit(bytes / 1e3, "kilobyte", bytes < 1e4 ? 1 : 0);
  return unit(bytes / 1e6, "megabyte", bytes < 1e7 ? 1 : 0);
}

export const score = (n: number | null): string => (n === null ? "–" : digits(n, n >= 10 ? 1 : 2));

/** ago formats a past time for lists: as minutes or hours ago, or as a date if it is a day or more ago. */
export function ago(iso: string, now = Date.now()): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return strings.justNow;
  if (minutes < 60) return strings.minutesAgo(minutes);
  if (minutes < 24 * 60) return strings.hoursAgo(Math.floor(minutes / 60));
  return new Date(at).toLocaleDateString(locale, { day: "numeric", month: "short", year: minutes > 300 * 24 * 60 ? "numeric" : undefined });
}

/** moment formats a date with its time. */
export function moment(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

/** day formats a date without a time. */
export function day(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? iso : at.toLocaleDateString(locale, { dateStyle: "medium", timeZone: "UTC" });
}
