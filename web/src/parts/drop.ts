import { useState } from "preact/hooks";

/** How many elements that files are over, and what an element needs to take files that are dropped on it. */
export function useDrop(take: (files: File[]) => void) {
  const [over, setOver] = useState(0);
  const has = (e: DragEvent) => e.dataTransfer?.types.includes("Files") ?? false;
  const handlers = {
    onDragEnter: (e: DragEvent) => has(e) && setOver((n) => n + 1),
    onDragLeave: (e: DragEvent) => has(e) && setOver((n) => Math.max(0, n - 1)),
    onDragOver: (e: DragEvent) => has(e) && e.preventDefault(),
    onDrop: (e: DragEvent) => {
      if (!has(e)) return;
      e.preventDefault();
      setOver(0);
      take([...(e.dataTransfer?.files ?? [])]);
    },
  };
  return [over, handlers] as const;
}
