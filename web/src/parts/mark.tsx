/** Parley's mark: two voices. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" class="mark" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" class="mark-ground" />
      <path d="M9 10.5h9.5a3.5 3.5 0 0 1 0 7H13l-4 3.5z" class="mark-first" />
      <path d="M23 16.5v8l-3.2-3H15.5" class="mark-second" />
    </svg>
  );
}
