// Numbers and words as people read them.
const MINUS = "\u2212";

export function signed(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  const zero = Number(text) === 0;
  return `${zero ? "" : value > 0 ? "+" : MINUS}${text}`;
}

export function plain(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value.toFixed(digits).replace("-", MINUS);
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en-US");
}

export function percent(value: number | null | undefined, digits = 0): string {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : `${(100 * value).toFixed(digits)} %`;
}

// As many digits as small contributions need to be told apart.
export function digitsFor(largest: number): number {
  if (!(largest > 0)) return 3;
  return Math.min(7, Math.max(3, 2 - Math.floor(Math.log10(largest))));
}

export function words(name: string): string {
  return name.replaceAll("_", " ");
}
