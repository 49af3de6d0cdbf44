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

export function plural(many: number, what: string): string {
  return `${count(many)} ${what}${many === 1 ? "" : "s"}`;
}

export function percent(value: number | null | undefined, digits = 0): string {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : `${(100 * value).toFixed(digits)}%`;
}

// As many digits as small contributions need to be told apart.
export function digitsFor(largest: number): number {
  if (!(largest > 0)) return 3;
  return Math.min(7, Math.max(3, 2 - Math.floor(Math.log10(largest))));
}

export function words(name: string): string {
  return name.replaceAll("_", " ");
}

// Three digits that say something, and no more.
export function short(value: number | null | undefined, digits = 3, sign = false): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const places = size === 0 ? 0 : Math.min(Math.max(digits - 1 - Math.floor(Math.log10(size)), 0), 8);
  const text = size.toLocaleString("en-US", { maximumFractionDigits: places, minimumFractionDigits: size < 1e4 ? places : 0 });
  return `${value < 0 ? MINUS : sign && value > 0 ? "+" : ""}${text}`;
}

function fixed(value: number, places: number, sign: boolean): string {
  const text = Math.abs(value).toLocaleString("en-US", { maximumFractionDigits: places, minimumFractionDigits: places });
  const zero = !/[1-9]/.test(text);
  return `${zero ? "" : value < 0 ? MINUS : sign ? "+" : ""}${text}`;
}

// An estimate and its 95% interval, with as many places as the interval deserves; a single value has none.
export function estimate(value: number | null, low: number | null, high: number | null, sign = false): [string, string] {
  if (value === null || low === null || high === null || !(high > low)) return [short(value, 3, sign), ""];
  const places = Math.min(Math.max(1 - Math.floor(Math.log10((high - low) / 2)), 0), 7);
  return [fixed(value, places, sign), `${fixed(low, places, sign)} to ${fixed(high, places, sign)}`];
}

// A number at a tick of an axis: no zeros at its end.
export function tick(value: number): string {
  return Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 8 }).replace("-", MINUS);
}

const HOURS_OF_DAYS = 72; // from here on, times are in days

export function inDays(hours: number, last: number): boolean {
  return hours * last >= HOURS_OF_DAYS;
}

// The time after a step, where steps have a length; else "".
export function clock(step: number, hours: number | null | undefined, last: number): string {
  if (!hours) return "";
  const time = step * hours;
  return inDays(hours, last) ? `day ${(time / 24).toFixed(1)}` : `${Number(time.toFixed(1))} h`;
}

export function moment(step: number, hours: number | null | undefined, last: number): string {
  const time = clock(step, hours, last);
  return time ? `step ${step} (${time})` : `step ${step}`;
}

const TICKS = 7;
const ROUND = [1, 2, 3, 4, 6, 7, 8, 12, 14, 21, 28];

// How many hours, days or steps two ticks of an axis of so many are apart.
export function roundTimes(many: number, ticks = TICKS): number {
  return ROUND.find((times) => many / times <= ticks) ?? Math.ceil(many / ticks);
}
