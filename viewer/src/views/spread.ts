// The drawn life of a post: a tree over time, and the same people by community. Only what is new is drawn in a frame.
import type { Cascade } from "../api";
import { clock, inDays, roundTimes, words } from "../format";
import { mix, type Colors } from "../theme";

export interface Spot {
  x: number;
  y: number;
}

// Where each share and each person stands: from 0 to 1 in both directions, or from left to right a step.
export interface Layout {
  share: Spot[];
  person: Spot[]; // rows of `seen`
  everybody: Spot[]; // background
  wide: number; // times as wide as high that the places are
}

const OWN = 0.8; // of the height of a share's band, for those who saw the post from it

// Time from left to right. Each share has a band of its own, as high as many people saw the post from it.
export function tree(of: Cascade): Layout {
  const { parent, step } = of.shares;
  const from = of.seen.from;
  const below: number[][] = parent.map(() => []);
  const roots: number[] = [];
  parent.forEach((to, row) => (to < 0 ? roots : below[to]!).push(row));
  const own = new Float64Array(parent.length).fill(1);
  for (const row of from) own[row]! += 1;
  const top = new Float64Array(parent.length);
  let height = 0;
  const waiting = [...roots].reverse();
  while (waiting.length) {
    const row = waiting.pop()!;
    top[row] = height;
    height += own[row]!;
    waiting.push(...[...below[row]!].reverse());
  }
  const spot = (at: number, y: number): Spot => ({ x: at, y: y / Math.max(height, 1) });
  const met = new Float64Array(parent.length);
  return {
    share: step.map((at, row) => spot(at, top[row]! + 0.5)),
    person: of.seen.step.map((at, row) => {
      const share = from[row]!;
      met[share]! += 1;
      return spot(at, top[share]! + 0.5 + met[share]! * OWN * ((own[share]! - 0.5) / own[share]!));
    }),
    everybody: [],
    wide: 1,
  };
}

// First and number of steps that the picture shows: until nothing new came, and a little more.
export function period({ shares, seen, acts, last }: Cascade): [number, number] {
  const start = Math.min(...shares.step);
  const end = Math.max(start + 1, ...shares.step, ...seen.step, ...acts.map((act) => act.step));
  return [start, Math.max(1, Math.min(last, end + Math.ceil((end - start) * 0.05)) - start)];
}

// The people where the network view has them. `at` gives the place of an agent.
export function map(of: Cascade, at: (agent: number) => Spot | null, everybody: Spot[], wide: number): Layout {
  const middle = { x: 0.5, y: 0.5 };
  return {
    share: of.shares.agent.map((agent) => at(agent) ?? middle),
    person: of.seen.agent.map((agent) => at(agent) ?? middle),
    everybody,
    wide,
  };
}

interface Event {
  step: number;
  draw: () => void;
}

const EDGE = 14; // pixels around the picture
const BEFORE = -1;
const CROWDED = 100; // posts and shares above which their rings are small

export class Spread {
  private readonly pen: CanvasRenderingContext2D;
  private readonly events: Event[];
  private done = 0;
  private at = BEFORE;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly of: Cascade,
    private readonly layout: Layout,
    private readonly colors: Colors,
    private readonly span: [number, number] | null, // steps from left to right; null where x is from 0 to 1
  ) {
    this.pen = canvas.getContext("2d")!;
    this.events = this.made();
    this.clear();
  }

  // Draws everything up to a step; forward, only what came since.
  show(step: number): void {
    if (step < this.at) this.clear();
    for (; this.done < this.events.length && this.events[this.done]!.step <= step; this.done++) this.events[this.done]!.draw();
    this.at = step;
  }

  // The share or person next to a place on the canvas: its agent.
  near(x: number, y: number): number | null {
    let [best, least] = [null as number | null, 14];
    const look = (spots: Spot[], agents: number[], steps: number[]): void =>
      spots.forEach((spot, row) => {
        const far = Math.hypot(this.x(spot) - x, this.y(spot) - y);
        if (steps[row]! <= this.at && far < least) [best, least] = [agents[row]!, far];
      });
    look(this.layout.share, this.of.shares.agent, this.of.shares.step);
    look(this.layout.person, this.of.seen.agent, this.of.seen.step);
    return best;
  }

  private x(spot: Spot): number {
    if (!this.span) return this.width / 2 + (spot.x - 0.5) * this.layout.wide * this.room();
    return EDGE + ((spot.x - this.span[0]) / (this.span[1] - this.span[0])) * (this.width - 2 * EDGE);
  }

  private y(spot: Spot): number {
    return this.span ? EDGE + spot.y * (this.height - 3 * EDGE) : this.height / 2 + (spot.y - 0.5) * this.room();
  }

  // Height of the map in pixels: a disc stays a disc.
  private room(): number {
    return Math.min(this.height - 2 * EDGE, (this.width - 2 * EDGE) / this.layout.wide);
  }

  // Ticks of time below the picture, at round numbers of days, half days, hours or steps.
  private axis([first, last]: [number, number]): void {
    const { hours, last: end } = this.of;
    const days = hours && inDays(hours, end) ? ((last - first) * hours) / 24 : 0;
    const each = days >= 1 ? (days > 3 ? 24 : 12) / hours! : 1 / (hours || 1);
    const apart = Math.max(1, Math.round(each * roundTimes((last - first) / each, Math.max(2, Math.floor(this.width / 110)))));
    this.pen.fillStyle = this.colors.muted;
    this.pen.font = "12px system-ui, sans-serif";
    for (let step = Math.ceil(first / apart) * apart; step <= last; step += apart) {
      const [x, text] = [this.x({ x: step, y: 0 }), clock(step, hours, days && days < 1 ? 0 : end) || `step ${step}`];
      const half = this.pen.measureText(text).width / 2;
      this.pen.fillText(text.replace(/\.0$/, ""), Math.min(Math.max(x, half), this.width - half) - half, this.height - 5);
    }
  }

  private get width(): number {
    return this.canvas.clientWidth;
  }

  private get height(): number {
    return this.canvas.clientHeight;
  }

  private clear(): void {
    const scale = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [this.width * scale, this.height * scale];
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.pen.fillStyle = this.colors.line;
    for (const spot of this.layout.everybody) this.pen.fillRect(this.x(spot) - 1, this.y(spot) - 1, 2, 2);
    if (this.span) this.axis(this.span);
    [this.done, this.at] = [0, BEFORE];
  }

  // Links below people below shares where they come in the same step.
  private made(): Event[] {
    const { shares, seen, beliefs } = this.of;
    const { share, person } = this.layout;
    const row = new Map(seen.agent.map((agent, at) => [agent, at]));
    const size = seen.agent.length > 3000 ? 3 : 4;
    const links = shares.parent.flatMap((parent, to) => (parent < 0 ? [] : [{ step: shares.step[to]!, draw: () => this.link(share[parent]!, share[to]!) }]));
    const people = seen.step.map((step, at) => ({ step, draw: () => this.dot(person[at]!, size, this.colors.muted) }));
    const believed = beliefs.agent.flatMap((agent, nth) => {
      const at = row.get(agent);
      const color = beliefColor(beliefs.judged[nth]!, this.colors);
      return at === undefined ? [] : [{ step: beliefs.step[nth]!, draw: () => this.dot(person[at]!, size, color) }];
    });
    const passed = shares.step.map((step, at) => ({ step, draw: () => this.ring(share[at]!, shares.parent[at]! < 0) }));
    const acts = this.span ? this.of.acts.map((act, nth) => ({ step: act.step, draw: () => this.act(act.step, words(act.what), nth) })) : [];
    return [...acts, ...links, ...people, ...believed, ...passed].sort((a, b) => a.step - b.step); // stable
  }

  private link(from: Spot, to: Spot): void {
    const [x, y, nextX, nextY] = [this.x(from), this.y(from), this.x(to), this.y(to)];
    this.pen.strokeStyle = this.colors.edge;
    this.pen.lineWidth = 1;
    this.pen.beginPath();
    this.pen.moveTo(x, y);
    this.pen.bezierCurveTo(x, nextY, x, nextY, nextX, nextY);
    this.pen.stroke();
  }

  // A dashed line at the step of an act; few acts are named.
  private act(step: number, what: string, nth: number): void {
    const few = this.of.acts.length < 4;
    const x = this.x({ x: step, y: 0 });
    this.pen.strokeStyle = this.colors.across;
    this.pen.setLineDash([4, 4]);
    this.pen.beginPath();
    this.pen.moveTo(x, few ? EDGE : this.height - 2 * EDGE);
    this.pen.lineTo(x, this.height - EDGE);
    this.pen.stroke();
    this.pen.setLineDash([]);
    if (!few) return;
    this.pen.fillStyle = this.colors.across;
    this.pen.font = "12px system-ui, sans-serif";
    this.pen.textAlign = x > this.width / 2 ? "right" : "left";
    this.pen.fillText(what, x + (x > this.width / 2 ? -4 : 4), EDGE + 2 + nth * 15);
  }

  private dot(spot: Spot, size: number, color: string): void {
    this.pen.fillStyle = color;
    this.pen.fillRect(this.x(spot) - size / 2, this.y(spot) - size / 2, size, size);
  }

  private ring(spot: Spot, first: boolean): void {
    this.pen.strokeStyle = this.colors.ink;
    const crowded = this.of.shares.step.length > CROWDED;
    this.pen.lineWidth = (first ? 3 : 1.5) / (crowded ? 2 : 1);
    this.pen.beginPath();
    this.pen.arc(this.x(spot), this.y(spot), (first ? 6 : 4) / (crowded ? 1.8 : 1), 0, 2 * Math.PI);
    this.pen.stroke();
  }
}

// Belief from 0 to 1: certainly false, undecided, certainly true.
export function beliefColor(belief: number, colors: Colors): string {
  const share = Math.min(1, Math.abs(2 * belief - 1)) ** 0.6;
  return mix(colors.middle, belief >= 0.5 ? colors.con : colors.pro, share);
}
