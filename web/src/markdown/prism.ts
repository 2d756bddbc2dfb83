// Prism, told not to look for code in the page by itself; it reads this when it is loaded.
(globalThis as { Prism?: unknown }).Prism = { manual: true };
