// Where agents stand: communities by Louvain's method, each a disc, in order of stance from left to right.
const ENOUGH = 1e-7; // gain in modularity below which a pass ends
const PASSES = 30;
const SMALLEST = 3; // members; smaller communities stand together in one disc
const MOST = 240; // communities with a disc of their own: the largest
const GAP = 0.4; // between discs, in radii of a disc of mean size
const FILLED = 0.5; // of the picture, by discs
const WIDE = 2.1; // times as wide as high
const GOLDEN = Math.PI * (3 - Math.sqrt(5));

export interface Disc {
  x: number;
  y: number;
  radius: number;
  members: number[]; // rows, the most followed first
  stance: number | null; // mean at the start
  apart: boolean; // holds everybody who is in no community
}

export interface Places {
  discs: Disc[]; // from left to right
  of: Int32Array; // disc of each row
  x: Float64Array;
  y: Float64Array;
}

// Places of rows whose communities are known. `stance` has what is known of the start; NaN for nothing.
export function places(community: Int32Array, ends: ArrayLike<number>, followers: number[], stance: Float64Array): Places {
  const discs = discsOf(community, followers, stance);
  const of = new Int32Array(community.length);
  discs.forEach(({ members }, disc) => members.forEach((row) => (of[row] = disc)));
  pack(discs, heights(discs.length, flows(discs.length, of, ends)));
  const [x, y] = [new Float64Array(of.length), new Float64Array(of.length)];
  for (const { members, radius, x: left, y: up } of discs) {
    members.forEach((row, nth) => {
      const [far, angle] = [radius * 0.96 * Math.sqrt((nth + 0.5) / members.length), nth * GOLDEN];
      x[row] = left + far * Math.cos(angle);
      y[row] = up + far * Math.sin(angle);
    });
  }
  return { discs, of, x, y };
}

function discsOf(community: Int32Array, followers: number[], stance: Float64Array): Disc[] {
  const groups = new Map<number, number[]>();
  community.forEach((of, row) => {
    const members = groups.get(of);
    if (members) members.push(row);
    else groups.set(of, [row]);
  });
  const bySize = [...groups.values()].sort((a, b) => b.length - a.length);
  const own = bySize.filter((members, nth) => nth < MOST && members.length >= SMALLEST);
  const apart = bySize.slice(own.length).flat();
  return [...own, ...(apart.length ? [apart] : [])]
    .map((members): Disc => {
      const known = members.map((row) => stance[row]!).filter((value) => !Number.isNaN(value));
      const mean = known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
      members.sort((a, b) => followers[b]! - followers[a]!);
      return { x: 0, y: 0, radius: Math.sqrt(members.length), members, stance: mean, apart: members === apart };
    })
    .sort((a, b) => (a.stance ?? 0) - (b.stance ?? 0));
}

// Follows from a disc to a disc, at `from * discs + to`; `counted` says which follows count.
export function flows(discs: number, of: Int32Array, ends: ArrayLike<number>, counted: (from: number, to: number) => boolean = () => true): Float64Array {
  const sums = new Float64Array(discs * discs);
  for (let at = 0; at < ends.length; at += 2) {
    if (counted(ends[at]!, ends[at + 1]!)) sums[of[ends[at]!]! * discs + of[ends[at + 1]!]!]!++;
  }
  return sums;
}

// From 0 to 1: discs that follow each other more stand at a like height, beside their order from left to right.
function heights(discs: number, flow: Float64Array): number[] {
  let height = Array.from({ length: discs }, (_, disc) => ((disc * GOLDEN) % 1) - 0.5);
  const order = height.map((_, disc) => disc - (discs - 1) / 2);
  const along = order.reduce((sum, value) => sum + value * value, 0) || 1;
  for (let pass = 0; pass < PASSES; pass++) {
    const next = height.map((own, disc) => {
      let [sum, weight] = [0, 0];
      for (let other = 0; other < discs; other++) {
        if (other === disc) continue;
        const link = flow[disc * discs + other]! + flow[other * discs + disc]!;
        sum += link * height[other]!;
        weight += link;
      }
      return (own + (weight ? sum / weight : 0)) / 2;
    });
    const mean = next.reduce((a, b) => a + b, 0) / (discs || 1);
    const tilt = next.reduce((sum, value, disc) => sum + (value - mean) * order[disc]!, 0) / along;
    height = next.map((value, disc) => value - mean - tilt * order[disc]!);
    const size = Math.hypot(...height) || 1;
    height = height.map((value) => value / size);
  }
  const ranked = height.map((_, disc) => disc).sort((a, b) => height[a]! - height[b]!);
  const rank = new Map(ranked.map((disc, nth) => [disc, (nth + 0.5) / discs]));
  return height.map((_, disc) => rank.get(disc) ?? 0);
}

// Exactly in order from left to right, at equal density; as near to its height as the others leave room, largest first.
function pack(discs: Disc[], height: number[]): void {
  const area = discs.reduce((sum, disc) => sum + Math.PI * disc.radius ** 2, 0);
  const gap = GAP * Math.sqrt(area / Math.PI / (discs.length || 1));
  const width = Math.sqrt((WIDE * area) / FILLED);
  let passed = 0;
  discs.forEach((disc, nth) => {
    const own = Math.PI * disc.radius ** 2;
    disc.x = ((passed + own / 2) / area) * width;
    disc.y = (height[nth]! - 0.5) * (width / WIDE);
    passed += own;
  });
  const placed: Disc[] = [];
  for (const disc of [...discs].sort((a, b) => b.radius - a.radius)) {
    const reach = (other: Disc): number => Math.sqrt(Math.max(0, (disc.radius + other.radius + gap) ** 2 - (disc.x - other.x) ** 2));
    const near = placed.filter((other) => reach(other) > 0);
    const wanted = disc.y;
    const free = (y: number): boolean => near.every((other) => Math.abs(y - other.y) >= reach(other) - 1e-9);
    const ys = [wanted, ...near.flatMap((other) => [other.y - reach(other), other.y + reach(other)])];
    disc.y = ys.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted)).find(free) ?? wanted;
    placed.push(disc);
  }
}

interface Links {
  start: Int32Array;
  end: Int32Array;
  weight: Float64Array;
}

// Follows in both directions as rows of neighbors.
function links(n: number, ends: ArrayLike<number>, weights: ArrayLike<number> | null): Links {
  const start = new Int32Array(n + 1);
  for (let at = 0; at < ends.length; at++) start[ends[at]! + 1]!++;
  for (let row = 0; row < n; row++) start[row + 1]! += start[row]!;
  const next = start.slice();
  const [end, weight] = [new Int32Array(ends.length), new Float64Array(ends.length)];
  for (let at = 0; at < ends.length; at += 2) {
    for (const [from, to] of [[ends[at]!, ends[at + 1]!], [ends[at + 1]!, ends[at]!]] as const) {
      const slot = next[from]!++;
      end[slot] = to;
      weight[slot] = weights ? weights[at / 2]! : 1;
    }
  }
  return { start, end, weight };
}

// One level: each node joins the community of its neighbors that raises modularity most, until none does.
function level(n: number, { start, end, weight }: Links): Int32Array {
  const of = Int32Array.from({ length: n }, (_, row) => row);
  const degree = new Float64Array(n);
  for (let row = 0; row < n; row++) for (let at = start[row]!; at < start[row + 1]!; at++) degree[row]! += weight[at]!;
  const total = degree.slice();
  const all = degree.reduce((a, b) => a + b, 0);
  const near = new Float64Array(n);
  for (let pass = 0; pass < PASSES; pass++) {
    let gained = 0;
    for (let row = 0; row < n; row++) {
      const own = of[row]!;
      const touched = [own];
      near[own] = 0;
      for (let at = start[row]!; at < start[row + 1]!; at++) {
        if (end[at] === row) continue;
        const other = of[end[at]!]!;
        if (near[other] === 0 && other !== own) touched.push(other);
        near[other]! += weight[at]!;
      }
      total[own]! -= degree[row]!;
      const worth = (of: number): number => near[of]! - (total[of]! * degree[row]!) / all;
      let best = own;
      for (const other of touched) if (worth(other) > worth(best) + 1e-12) best = other;
      gained += (worth(best) - worth(own)) / all;
      for (const other of touched) near[other] = 0;
      total[best]! += degree[row]!;
      of[row] = best;
    }
    if (gained < ENOUGH) break;
  }
  return of;
}

// Communities of rows by the method of Blondel and others (2008), numbered from 0; the same for the same follows.
export function louvain(n: number, ends: ArrayLike<number>): Int32Array {
  const of = Int32Array.from({ length: n }, (_, row) => row);
  let [many, pairs, weights]: [number, ArrayLike<number>, ArrayLike<number> | null] = [n, ends, null];
  for (;;) {
    const joined = level(many, links(many, pairs, weights));
    const number = new Map<number, number>();
    for (const community of joined) if (!number.has(community)) number.set(community, number.size);
    for (let row = 0; row < n; row++) of[row] = number.get(joined[of[row]!]!)!;
    if (number.size === many) return of;
    const sums = new Map<number, number>();
    for (let at = 0; at < pairs.length; at += 2) {
      const key = number.get(joined[pairs[at]!]!)! * number.size + number.get(joined[pairs[at + 1]!]!)!;
      sums.set(key, (sums.get(key) ?? 0) + (weights ? weights[at / 2]! : 1));
    }
    many = number.size;
    pairs = [...sums.keys()].flatMap((key) => [Math.floor(key / many), key % many]);
    weights = [...sums.values()];
  }
}
