// Questions to the server, and what it answers. Texts are untrusted: they are only ever shown as text.
import { useEffect, useRef, useState } from "react";
import { withQuery, type Query } from "./route";

export interface Wrong {
  where: string;
  got: string;
  allowed: string;
  do: string;
}

export interface Answer<T> {
  data: T | null;
  wrong: Wrong | null;
  loading: boolean;
}

class Refused extends Error {
  constructor(readonly wrong: Wrong) {
    super(wrong.where);
  }
}

type Kind = "json" | "bytes";

const early = new Map<string, Promise<unknown>>();

// Asks before the view that shows the answer is loaded; the view then takes the answer instead of asking.
export function askEarly(path: string, query: Query): void {
  const url = withQuery(path, query);
  const answer = ask(url, "json", null);
  answer.catch(() => undefined); // the view hears of it
  early.set(url, answer);
}

async function ask(url: string, kind: Kind, signal: AbortSignal | null): Promise<unknown> {
  const answer = await fetch(url, { signal });
  if (answer.ok) return kind === "json" ? answer.json() : answer.arrayBuffer();
  const refusal = (await answer.json().catch(() => null)) as { error?: Wrong } | null;
  throw new Refused(refusal?.error ?? { where: url, got: `status ${answer.status}`, allowed: "", do: "reload the page" });
}

const SILENT: Wrong = {
  where: "the viewer",
  got: "no answer",
  allowed: "",
  do: "start it again with `townsquare view`, then reload this page",
};

// `fresh` is no part of the question: when it changes, the question is asked again. Old data stays until new is there.
export function useAnswer<T>(path: string, query: Query, fresh: unknown = 0, kind: Kind = "json"): Answer<T> {
  const url = path ? withQuery(path, query) : "";
  const [answer, setAnswer] = useState<Answer<T>>({ data: null, wrong: null, loading: true });
  useEffect(() => {
    if (!url) return undefined;
    const stop = new AbortController();
    setAnswer((old) => ({ ...old, loading: true }));
    const asked = early.get(url);
    early.delete(url);
    (asked ?? ask(url, kind, stop.signal))
      .then((data) => stop.signal.aborted || setAnswer({ data: data as T, wrong: null, loading: false }))
      .catch((error: unknown) => {
        if (stop.signal.aborted) return;
        setAnswer((old) => ({ data: old.data, wrong: error instanceof Refused ? error.wrong : SILENT, loading: false }));
      });
    return () => stop.abort();
  }, [url, fresh, kind]);
  return answer;
}

export interface Live {
  step: number;
  steps: number | null;
  state: string;
}

const CALM = 700;

// The run as it goes on; at most one change in CALM milliseconds, however fast the steps are.
export function useLive(run: string): Live | null {
  const [live, setLive] = useState<Live | null>(null);
  const waiting = useRef<number | undefined>(undefined);
  useEffect(() => {
    setLive(null);
    if (!run) return undefined;
    let first = true;
    let last: Live | null = null;
    const source = new EventSource(withQuery("/api/events", { run }));
    const show = (): void => {
      waiting.current = undefined;
      setLive(last);
    };
    const hear = (event: MessageEvent<string>): void => {
      last = JSON.parse(event.data) as Live;
      if (first) show();
      else waiting.current ??= window.setTimeout(show, CALM);
      first = false;
    };
    source.onmessage = hear;
    source.addEventListener("end", (event) => {
      hear(event as MessageEvent<string>);
      source.close();
    });
    return () => {
      source.close();
      window.clearTimeout(waiting.current);
      waiting.current = undefined;
    };
  }, [run]);
  return live;
}

export interface RunRow {
  id: string;
  arm: string;
  error: Wrong | null;
  state: string;
  server?: string;
  scenario?: string;
  seed?: number;
  step?: number;
  steps?: number;
  hours?: number | null;
  agents?: number;
  rule?: string;
  moderation?: string;
  refused_share?: number;
  actions?: number;
  exposures?: number;
  seconds_per_step?: number | null;
  health?: string;
  problems?: string[];
}

export interface Effect {
  difference: number;
  low: number | null;
  high: number | null;
  p_holm: number | null;
  verdict: string;
}

export interface ArmMean {
  arm: string;
  label: string;
  n: number;
  mean: number | null;
  low: number | null;
  high: number | null;
  effect: Effect | null;
}

export interface Member {
  arm: string;
  label: string;
  seed: number;
  state: string;
  value: number | null;
}

export interface Comparison {
  id: string;
  vary: string[];
  baseline: string;
  state: string;
  runs: number;
  finished: number;
  failed: number;
  waiting: number;
  report: boolean;
  primary: string;
  outcome: string;
  title: string;
  unit: string;
  direction: string;
  arms: ArmMean[];
  members: Record<string, Member>;
}

export interface Compared extends Comparison {
  heading: string;
  seeds: number[];
  settings: Record<string, string[]>;
  hours: number | null;
  agents: number | null;
  steps: number | null;
  propositions: { name: string; text: string }[];
  errors: string[];
  outcomes: { outcome: string; title: string; unit: string; main: boolean; direction: string; arms: ArmMean[] }[];
}

export interface Answers {
  question: string;
  sentences: string[];
  mover: string[];
  cautions: string[];
}

export interface Facts {
  answer: string;
  checks: { fact: string; statement: string; target: string; unit: string; value: string; interval: string; inside: string }[];
}

export interface ArmCourse {
  arm: string;
  at: number[];
  value: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  seeds: number[];
}

export interface OneCourse {
  course: string;
  title: string;
  unit: string;
  over: string;
  level: ArmCourse[];
  difference: ArmCourse[];
}

export interface Courses {
  baseline: string;
  arms: { arm: string; label: string }[];
  courses: OneCourse[];
}

export interface InArms {
  seed: number;
  agent: number;
  seeds: number[];
  last_step: number;
  hours: number | null;
  propositions: Proposition[];
  arms: {
    arm: string;
    label: string;
    run: string;
    who: string;
    course: { step: number[]; proposition: string[]; stance: number[]; confidence: number[] };
  }[];
}

export interface Proposition {
  proposition: number;
  name: string;
  text: string;
}

export interface Head extends RunRow {
  last_step: number;
  comparison: string;
  propositions: Proposition[];
  unit: string;
  trail: boolean;
  memories: boolean;
}

export interface Course {
  step: number[];
  proposition: number[];
  agents: number[];
  mean: (number | null)[];
  sd: (number | null)[];
  q05: number[];
  q25: number[];
  q50: number[];
  q75: number[];
  q95: number[];
}

export interface Beliefs {
  bins_per_step: number;
  course: Course;
  bins: { step: number[]; proposition: number[]; bin: number[]; agents: number[] };
  change: { proposition: number; shift: number; spread_kept: number | null; changed_side: number }[];
  since: number; // last step of the warm-up, from which changes count
}

export interface Lines {
  lines: { proposition: number[]; agent: number[]; step: number[]; stance: number[] };
}

export interface Activity {
  engagement: { step: number[]; veracity: string[]; engagement: number[]; per_post: (number | null)[]; posts: number[] };
  events: { step: number[]; event: string[]; veracity: string[]; posts: number[] };
  participation: { step: number[]; online: number[]; silent_share: (number | null)[]; accepted: number[]; refused: number[] };
  refusals: { reason: string; actions: number; share: number }[];
}

export interface Network {
  agents: number;
  follows: number;
  agent: number[];
  followers: number[];
  source: boolean[];
  born: number[];
  who: string[];
  blocks: { by: string; of: (string | null)[] } | null;
}

export interface Reached {
  post: number;
  author: number;
  content: string;
  veracity: string;
  seen: { agent: number[]; step: number[] };
  shared: { agent: number[]; step: number[] };
}

// The life of a post: shares hang below what they were made from; people saw it first `from` a row of shares.
export interface Cascade {
  run: string;
  post: number;
  posts: number; // of the same claim
  content: string;
  veracity: string;
  last: number;
  hours: number | null;
  people: number;
  shares: { post: number[]; parent: number[]; step: number[]; agent: number[]; who: string[] };
  seen: { agent: number[]; step: number[]; from: number[] };
  beliefs: { agent: number[]; step: number[]; judged: number[] };
  acts: { step: number; what: string }[];
  listed: { root: number; veracity: string; shares: number; content: string }[];
  arms: { run: string; label: string }[];
}

export interface AgentRow {
  agent: number;
  who: string;
  born: number;
  start: number | null;
  end: number | null;
  change: number | null;
  confidence: number | null;
  followers: number;
}

export interface PostRow {
  root: number;
  step: number;
  kind: string;
  who: string;
  veracity: string;
  verdict: string;
  noted: boolean;
  taken_down: boolean;
  likes: number;
  dislikes: number;
  shares: number;
  comments: number;
  flags: number;
  content: string;
  engagement: number;
}

export interface Page<T> {
  total: number;
  from: number;
  page: number;
  rows: T[];
}

export interface AgentFacts {
  agent: number;
  who: string;
  kind: string;
  born: number;
  persona: { label: string; answer: string }[];
  persona_text: string;
  survey_text: string;
  course: { step: number[]; proposition: string[]; stance: number[]; confidence: number[] };
  follows: number;
  followers: number;
  records: boolean;
  claims: boolean;
}

export interface ClaimBelief {
  claim: number;
  text: string;
  truth: string;
  sentences: string[];
  meetings: {
    step: number;
    by: string;
    shown_label: string;
    judged: number;
    start: number;
    sources: number;
    readings: number;
    label: number;
    note: number;
  }[];
}

export interface Exposure {
  rank: number;
  post: number;
  root: number;
  author: number;
  under: number;
  slot: string;
  likes: number;
  shares: number;
  verdict: string;
  note: number;
  offered: number;
  first_seen: boolean;
  weight: number;
  who: string;
  content: string;
  root_kind: string;
}

export interface Act {
  ordinal: number;
  kind: string;
  on: string;
  target: number;
  root: number | null;
  content: string | null;
  written: string | null;
  note: string | null;
  helpful: number;
  why: string | null;
  status: string;
  reason: string;
}

export interface Memory {
  memory: number;
  step: number;
  kind: string;
  action: string;
  post: number;
  content: string;
  importance: number;
  accessed: number;
  relevance: number;
}

export interface InStep {
  exposures: Exposure[];
  actions: Act[];
  memories: Memory[];
}

export interface Cause {
  kind: string;
  amount: number;
  recorded: number;
  rank: number | null;
  post: number | null;
  author: number | null;
  name: string;
  text: string;
  stance: number | null;
  trust: number | null;
  label: string;
  weight: number | null;
  first_seen: boolean | null;
  novelty: number | null;
  record: { claim: number; text: string; polarity: number; strength: number; by: string | null } | null;
}

export interface Waterfall {
  step: number;
  proposition: string;
  unit: string;
  joined: boolean;
  stance_before: number | null;
  stance_after: number;
  before: number;
  after: number;
  sum: number;
  change: number;
  agrees: boolean | null;
  causes: Cause[];
}

export interface ArgumentRecord {
  claim: number;
  text: string;
  polarity: number;
  strength: number;
  origin: string;
  active: boolean;
  since: number;
  change: string;
  by: number | null;
  post: number | null;
  author: number | null;
  name: string;
  weight: number;
  amount: number;
}

export interface Records {
  records: ArgumentRecord[];
  prior?: number;
  uptake?: number;
  anchoring?: number;
  profile?: string;
  log_odds?: number;
  stance?: number;
  recorded?: number;
  agrees?: boolean;
}

export interface PostFacts {
  post: number;
  content: string;
  kind: string;
  veracity: string;
  plausibility: number;
  author: number;
  who: string;
  step: number;
  parent: number;
  stances: { proposition: string; stance: number; strength: number | null }[];
  counts: Record<string, number>;
  thread: { post: number; kind: string; parent: number; step: number; author: number; who: string; content: string }[];
  verdicts: { step: number; verdict: string; confidence: number; explanation: string; sources: string }[];
  acts: { step: number; what: string; reason: string; value: number }[];
  notes: {
    note: number;
    step: number;
    author: number;
    who: string;
    content: string;
    helpful: number;
    somewhat: number;
    not_helpful: number;
    shown: boolean;
    decided: number | null;
    status: string;
    intercept: number | null;
    factor: number | null;
  }[];
  seen: { step: number[]; exposures: number[]; labeled: number[]; new: number[]; reach: number[] };
  seen_by: { agent: number; first: number; times: number; who: string }[];
  reach: number;
  moved: { agent: number; proposition: string; amount: number; times: number; most_at: number; who: string }[];
  moved_by_step: { step: number[]; toward: number[]; away: number[] };
}
