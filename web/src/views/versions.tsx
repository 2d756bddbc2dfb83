// The switch between the versions of an edited question or a regenerated answer.
import * as app from "../app.ts";
import { IconButton } from "../parts/controls.tsx";
import { strings } from "../strings.ts";

export function Versions({ id, parent, siblings }: { id: string; parent: string; siblings: string[] }) {
  if (siblings.length < 2) return null;
  const at = siblings.indexOf(id);
  const to = (step: number) => app.choose(parent, siblings[at + step]!);
  return (
    <span class="versions" role="group" aria-label={strings.chat.versions}>
      <IconButton icon="left" label={strings.chat.versionBefore} disabled={at === 0} onClick={() => to(-1)} />
      <span aria-live="polite">{`${at + 1}/${siblings.length}`}</span>
      <IconButton icon="right" label={strings.chat.versionAfter} disabled={at === siblings.length - 1} onClick={() => to(1)} />
    </span>
  );
}
