interface Props {
  label: string;
  name: string; // prefix of the element ids
  tabs: { id: string; title: string }[];
  at: string;
  select: (id: string) => void;
}

/** A row of tabs with arrow-key navigation. They control the panel with the id `${name}-panel`. */
export function Tabs({ label, name, tabs, at, select }: Props) {
  const keys = (event: KeyboardEvent) => {
    const forward = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
    const step = event.key === forward ? 1 : event.key === "ArrowRight" || event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = tabs[(tabs.findIndex((t) => t.id === at) + step + tabs.length) % tabs.length]!;
    select(next.id);
    document.getElementById(`${name}-${next.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={keys}>
      {tabs.map((t) => (
        <button key={t.id} id={`${name}-${t.id}`} type="button" role="tab" aria-selected={t.id === at} aria-controls={`${name}-panel`}
          tabIndex={t.id === at ? 0 : -1} onClick={() => select(t.id)}>
          {t.title}
        </button>
      ))}
    </div>
  );
}
