// The colour that a site chooses for its chat.

export const isColor = (text: string | null): text is string => text !== null && /^#[0-9a-f]{6}$/i.test(text);

/** Returns black or white, whichever is easier to read on a colour (WCAG 2.2, relative luminance). */
export function inkOn(color: string): string {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const c = parseInt(color.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? "#000000" : "#ffffff";
}
