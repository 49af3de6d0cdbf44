// Small things that every view is made of.
import { useEffect, useId, useState, type JSX, type ReactNode } from "react";
import type { Answer, Head, Proposition, Wrong } from "./api";
import { clock, estimate, signed, words } from "./format";
import { change, withQuery, type Query, type Route } from "./route";
import { stanceColor, useColors } from "./theme";

// What every view of a run is given.
export interface ViewProperties {
  head: Head;
  route: Route;
  fresh: string;
}

interface SectionProperties {
  title: string;
  note?: ReactNode;
  csv?: { name: string; query: Query };
  children: ReactNode;
  wide?: boolean;
}

export function Section({ title, note, csv, children, wide = false }: SectionProperties): JSX.Element {
  const id = useId();
  return (
    <section className={wide ? "card wide" : "card"} aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {csv && <Csv {...csv} title={title} />}
      </div>
      {note && <p className="note">{note}</p>}
      {children}
    </section>
  );
}

export function Csv({ name, query, title }: { name: string; query: Query; title: string }): JSX.Element {
  return (
    <a className="csv" href={withQuery(`/csv/${name}`, query)} download aria-label={`CSV: ${title}`}>
      CSV
    </a>
  );
}

// A box to tick whose state is in the address; only what differs from `usual` stands there.
export function Toggle({ name, label, value, usual }: { name: string; label: string; value: boolean; usual: boolean }): JSX.Element {
  const set = (): void => change({ [name]: value === usual ? Number(!value) : null });
  return (
    <label>
      <input type="checkbox" checked={value} onChange={set} /> {label}
    </label>
  );
}

export function isOn(query: URLSearchParams, name: string, usual: boolean): boolean {
  const text = query.get(name);
  return text === null ? usual : text === "1";
}

export function Problem({ wrong }: { wrong: Wrong }): JSX.Element {
  return (
    <div className="problem" role="alert" data-testid="problem">
      <strong>This view cannot be shown.</strong>
      <p>
        {wrong.where}
        {wrong.got && `: ${wrong.got}`}
      </p>
      {wrong.allowed && <p>Possible: {wrong.allowed}</p>}
      {wrong.do && <p>{wrong.do}</p>}
    </div>
  );
}

// What was answered, or why not, or that it is on its way.
export function Answered<T>({ of, wait = "Reading the recorded run…", children }: { of: Answer<T>; wait?: string; children: (data: T) => ReactNode }): JSX.Element {
  if (of.wrong) return <Problem wrong={of.wrong} />;
  if (of.data === null) return <p className="loading">{wait}</p>;
  return <>{children(of.data)}</>;
}

export function Stance({ value, digits = 2 }: { value: number | null; digits?: number }): JSX.Element {
  const colors = useColors();
  if (value === null) return <span className="muted">–</span>;
  return (
    <span className="stance">
      <i style={{ background: stanceColor(value, colors) }} aria-hidden="true" />
      {signed(value, digits)}
    </span>
  );
}

export function Tag({ kind, children }: { kind: string; children: ReactNode }): JSX.Element {
  return <span className={`tag tag-${kind}`}>{children}</span>;
}

export function Truth({ veracity }: { veracity: string }): JSX.Element | null {
  if (veracity === "unknown") return null;
  return <Tag kind={veracity === "true" ? "true" : "false"}>{veracity === "true" ? "✓ true" : "✗ false"}</Tag>;
}

export function PropositionChoice({ of, value }: { of: Proposition[]; value: string }): JSX.Element | null {
  const id = useId();
  const chosen = of.find((option) => option.name === value) ?? of[0];
  if (!chosen) return null;
  return (
    <div className="choice">
      <label htmlFor={id}>Proposition</label>
      <select id={id} value={chosen.name} onChange={(event) => change({ p: event.target.value })}>
        {of.map((option) => (
          <option key={option.name} value={option.name}>
            {words(option.name)}
          </option>
        ))}
      </select>
      <span className="statement">“{chosen.text}”</span>
    </div>
  );
}

interface StepProperties {
  value: number;
  last: number;
  first?: number;
  wanted?: number | undefined;
  play?: boolean;
  hours?: number | null | undefined;
}

const PLAY_PAUSE = 450;

// The step that is shown. Without one in the address, the last: a page that is left open follows a running simulation.
export function StepSlider({ value, last, first = 0, play = true, hours }: StepProperties): JSX.Element {
  const id = useId();
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    if (value >= last) {
      setPlaying(false);
      return undefined;
    }
    const timer = window.setTimeout(() => change({ step: value + 1 }), PLAY_PAUSE);
    return () => window.clearTimeout(timer);
  }, [playing, value, last]);
  const start = (): void => {
    if (!playing && value >= last) change({ step: first });
    setPlaying(!playing);
  };
  return (
    <div className="stepper">
      <label htmlFor={id}>Step</label>
      {play && (
        <button type="button" onClick={start} aria-label={playing ? "Pause" : "Play the steps"} className="icon">
          {playing ? "❚❚" : "▶"}
        </button>
      )}
      <input
        id={id}
        type="range"
        min={first}
        max={last}
        value={value}
        data-testid="step"
        onChange={(event) => {
          setPlaying(false);
          change({ step: Number(event.target.value) });
        }}
      />
      <output htmlFor={id}>
        {value}{" "}
        <span className="muted">
          of {last}
          {hours && ` · ${clock(value, hours, last)}`}
        </span>
      </output>
    </div>
  );
}

export function stepOf(query: URLSearchParams, last: number, first = 0, usual = last): number {
  const text = query.get("step");
  const asked = text !== null && /^\d{1,6}$/.test(text) ? Number(text) : usual;
  return Math.min(Math.max(asked, first), last);
}

export function Pager({ total, from, page }: { total: number; from: number; page: number }): JSX.Element | null {
  if (total <= page) return null;
  const to = Math.min(from + page, total);
  return (
    <nav className="pager" aria-label="Pages">
      <button type="button" disabled={from === 0} onClick={() => change({ from: Math.max(0, from - page) })}>
        Previous
      </button>
      <span>
        {from + 1}–{to} of {total.toLocaleString("en-US")}
      </span>
      <button type="button" disabled={to >= total} onClick={() => change({ from: from + page })}>
        Next
      </button>
    </nav>
  );
}

interface FindProperties {
  label: string;
  value: string;
}

export function Find({ label, value }: FindProperties): JSX.Element {
  const id = useId();
  return (
    <div className="choice">
      <label htmlFor={id}>{label}</label>
      <input id={id} type="search" value={value} onChange={(event) => change({ find: event.target.value, from: null })} />
    </div>
  );
}

interface PickProperties {
  label: string;
  value: string;
  of: [string, string][];
  onPick: (value: string) => void;
}

export function Pick({ label, value, of, onPick }: PickProperties): JSX.Element {
  const id = useId();
  return (
    <div className="choice">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onPick(event.target.value)}>
        {of.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

// A choice that the address holds, under a name.
export function Choice({ name, ...rest }: Omit<PickProperties, "onPick"> & { name: string }): JSX.Element {
  return <Pick {...rest} onPick={(value) => change({ [name]: value, from: null })} />;
}

export function State({ state }: { state: string }): JSX.Element {
  return <Tag kind={`state-${state}`}>{STATES[state] ?? state}</Tag>;
}

const STATES: Record<string, string> = { running: "● running", unopened: "on a server", pending: "reading" };

// A mean or difference with its 95% interval below it.
export function Estimate({ value, low, high, sign = false }: { value: number | null; low: number | null; high: number | null; sign?: boolean }): JSX.Element {
  const [middle, ends] = estimate(value, low, high, sign);
  return (
    <span className="estimate">
      {middle} {ends && <small className="muted">({ends})</small>}
    </span>
  );
}

const JUDGED: Record<string, string> = { better: "true", worse: "false" };

export function Verdict({ of }: { of: string }): JSX.Element {
  return <Tag kind={JUDGED[of] ?? "plain"}>{of}</Tag>;
}
