// Keeps Prism from highlighting the page by itself. Import this before Prism, which reads it when it is loaded.
(globalThis as { Prism?: unknown }).Prism = { manual: true };
