// A bar chart of usage per day. The numbers are in the table below it.
import { count, day, money } from "../format.ts";
import { strings } from "../strings.ts";

const s = strings.admin;

export interface Day {
  day?: string;
  total_tokens: number;
  cost_usd: number;
}

const dayLength = 86_400_000; // ms

/** Returns all days from `first` to `today`, including those without usage. */
export function everyDay(rows: Day[], first: string, today: string): Required<Day>[] {
  const known = new Map(rows.map((r) => [r.day, r]));
  const all: Required<Day>[] = [];
  for (let at = Date.parse(first); at <= Date.parse(today); at += dayLength) {
    const name = new Date(at).toISOString().slice(0, 10);
    all.push({ total_tokens: 0, cost_usd: 0, ...known.get(name), day: name });
  }
  return all;
}

const height = 100;

export function UsageChart({ rows, first }: { rows: Day[]; first: string }) {
  const days = everyDay(rows, first, new Date().toISOString().slice(0, 10));
  const priced = days.some((d) => d.cost_usd > 0);
  const value = (d: Day) => (priced ? d.cost_usd : d.total_tokens);
  const written = (d: Day) => (priced ? money(d.cost_usd) : count(d.total_tokens));
  const most = days.reduce((a, b) => (value(b) > value(a) ? b : a));
  const title = s.chart(priced ? s.cost : s.tokens, written(most), day(most.day!));
  return (
    <figure class="usage-chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${days.length * 10} ${height}`} preserveAspectRatio="none" role="img" aria-label={title}>
        {days.map((d, i) => {
          const tall = value(d) > 0 ? Math.max(1.5, (height * value(d)) / value(most)) : 0;
          return <rect key={d.day} x={i * 10 + 1} width={8} y={height - tall} height={tall}><title>{`${day(d.day)}: ${written(d)}`}</title></rect>;
        })}
      </svg>
      <p class="ends" aria-hidden="true"><span>{day(days[0]!.day)}</span><span>{day(days.at(-1)!.day)}</span></p>
    </figure>
  );
}
