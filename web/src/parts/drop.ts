import { useState } from "preact/hooks";

/** Makes an element a drop target for files. Returns a count that is above 0 while files are dragged over it, and its event handlers. */
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
