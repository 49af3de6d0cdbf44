// Why a belief moved: from before to after, bar by bar, in the unit of the rule, and the same without one of them.
import type { JSX } from "react";
import { useAnswer, type Cause, type Waterfall } from "../api";
import { digitsFor, plain, plural, signed, words } from "../format";
import { Answered, Stance, Tag } from "../parts";
import { change, link, useRoute } from "../route";

const SHOWN = 12;
const NAMES: Record<string, string> = {
  anchor: "Anchor: pull toward the initial stance",
  clip: "Clipped to the bounds of the scale",
  own: "Own posts",
  archived: "Record archived",
  restored: "Record restored",
};

interface Place {
  run: string;
  agent: number;
  step: number;
  proposition: string;
}

interface Bar {
  cause: Cause;
  from: number;
  to: number;
}

export function WaterfallView(where: Place): JSX.Element {
  const { run, agent, step, proposition } = where;
  const answer = useAnswer<Waterfall>("/api/waterfall", { run, agent, step, proposition });
  return <Answered of={answer}>{(move) => <Shown key={`${step} ${proposition}`} move={move} where={where} />}</Answered>;
}

function Shown({ move, where }: { move: Waterfall; where: Place }): JSX.Element {
  const { query } = useRoute();
  const all = query.get("all") === "1";
  const bars = barsOf(move);
  const shown = all ? bars : bars.slice(0, SHOWN);
  const rest = bars.slice(shown.length);
  const scale = scaleOf(move, bars);
  const digits = digitsFor(Math.max(...move.causes.map((cause) => Math.abs(cause.recorded)), Math.abs(move.change), 1e-6));
  const restSum = rest.reduce((sum, bar) => sum + bar.cause.recorded, 0);
  return (
    <div data-testid="waterfall">
      <Summary move={move} digits={digits} />
      {!move.causes.length && <p>No contribution in this step.</p>}
      <div className="waterfall" role="table" aria-label="Contributions from before to after">
        <Scale scale={scale} unit={move.unit} digits={digits} />
        <End name={move.joined ? "Initial stance, on joining" : "Before"} value={move.before} stance={move.stance_before} unit={move.unit} at={scale.at(move.before)} digits={digits} />
        {shown.map((bar) => (
          <Row
            key={`${bar.cause.kind} ${bar.cause.rank} ${bar.cause.post} ${bar.from}`}
            bar={bar}
            scale={scale}
            digits={digits}
            where={where}
            move={move}
            asked={query.get("without") === nameOf(bar.cause)}
          />
        ))}
        {rest.length > 0 && (
          <div className="bar-row rest" role="row">
            <div className="bar-text" role="cell">
              <button type="button" onClick={() => change({ all: 1 })}>
                Show {rest.length} smaller contributions
              </button>
            </div>
            <Track bar={{ from: rest[0]?.from ?? 0, to: rest.at(-1)?.to ?? 0 }} amount={restSum} scale={scale} digits={digits} />
          </div>
        )}
        <End name="After" value={move.after} stance={move.stance_after} unit={move.unit} at={scale.at(move.after)} digits={digits} />
      </div>
    </div>
  );
}

// Which bar is asked about stands in the address, so that a link shows the answer too.
function nameOf(cause: Cause): string {
  return `${cause.kind}.${cause.rank ?? -1}.${cause.post ?? -1}.${cause.record?.claim ?? -1}`;
}

function Summary({ move, digits }: { move: Waterfall; digits: number }): JSX.Element {
  const unit = move.unit === "stance" ? "" : ` ${move.unit}`;
  return (
    <p className="sum" data-testid="sum" data-sum={move.sum} data-change={move.change}>
      {plural(move.causes.length, "contribution")} {move.causes.length === 1 ? "sums" : "sum"} to <strong>{signed(move.sum, digits)}</strong>
      {unit}; the recorded change is <strong>{signed(move.change, digits)}</strong>
      {unit}.{" "}
      {move.agrees === false ? (
        <Tag kind="false">✗ they differ</Tag>
      ) : (
        <Tag kind="true">{move.agrees === null ? "no earlier stance recorded" : "✓ they are equal"}</Tag>
      )}
    </p>
  );
}

function barsOf(move: Waterfall): Bar[] {
  let at = move.before;
  return move.causes.map((cause) => {
    const from = at;
    at += cause.recorded;
    return { cause, from, to: at };
  });
}

interface ScaleOf {
  low: number;
  high: number;
  at: (value: number) => number;
}

function scaleOf(move: Waterfall, bars: Bar[]): ScaleOf {
  const values = [move.before, move.after, ...bars.map((bar) => bar.to)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((most - least) * 0.06, 1e-9);
  const [low, high] = [least - room, most + room];
  return { low, high, at: (value) => (100 * (value - low)) / (high - low) };
}

// The axis in the unit of the rule; where that is log odds, the stances that they stand for below it.
function Scale({ scale, unit, digits }: { scale: ScaleOf; unit: string; digits: number }): JSX.Element {
  const ticks = [0.1, 0.5, 0.9].map((share) => scale.low + share * (scale.high - scale.low));
  return (
    <div className="bar-row scale" role="row">
      <div className="bar-text" role="columnheader">
        {unit === "stance" ? "stance" : `${unit} above, stance below`}
      </div>
      <div className="track" role="columnheader">
        {ticks.map((tick) => (
          <span key={tick} className="tick" style={{ left: `${scale.at(tick)}%` }}>
            {signed(tick, Math.min(digits, 5))}
            {unit !== "stance" && <small>{signed(Math.tanh(tick / 2), 3)}</small>}
          </span>
        ))}
      </div>
    </div>
  );
}

interface EndProperties {
  name: string;
  value: number;
  stance: number | null;
  unit: string;
  at: number;
  digits: number;
}

function End({ name, value, stance, unit, at, digits }: EndProperties): JSX.Element {
  return (
    <div className="bar-row end" role="row">
      <div className="bar-text" role="cell">
        <strong>{name}</strong> <Stance value={stance} digits={Math.min(digits, 5)} />
        {unit !== "stance" && <span className="muted"> {signed(value, digits)} log odds</span>}
      </div>
      <div className="track" role="cell">
        <i className="mark" style={{ left: `${at}%` }} />
      </div>
    </div>
  );
}

interface RowProperties {
  bar: Bar;
  scale: ScaleOf;
  digits: number;
  where: Place;
  move: Waterfall;
  asked: boolean;
}

function Row({ bar, scale, digits, where, move, asked }: RowProperties): JSX.Element {
  const { cause } = bar;
  return (
    <div className={cause.kind === "archived" ? "bar-row gone" : "bar-row"} role="row" data-testid="bar">
      <div className="bar-text" role="cell">
        <Text cause={cause} run={where.run} />
        <Details cause={cause} run={where.run} />
        {cause.post !== null && !move.joined && (
          <button type="button" className="link" onClick={() => change({ without: asked ? null : nameOf(cause) })} aria-expanded={asked}>
            {asked ? "Hide" : "Belief without this row"}
          </button>
        )}
        {asked && <WithoutIt where={where} cause={cause} digits={digits} />}
      </div>
      <Track bar={bar} amount={cause.recorded} scale={scale} digits={digits} />
    </div>
  );
}

function Text({ cause, run }: { cause: Cause; run: string }): JSX.Element {
  const name = NAMES[cause.kind];
  const record = cause.record;
  const changed = record !== null && (cause.kind === "archived" || cause.kind === "restored");
  const same = changed && cause.post !== null && record.text === cause.text;
  if (cause.post === null && !changed) return <p className="quote">{name ?? words(cause.kind)}</p>;
  return (
    <>
      <p className="quote">
        {name && <strong>{name}: </strong>}
        {changed && !same ? <span className="record-text">{record.text}</span> : <a className="record-text" href={link(run, "post", cause.post ?? 0)}>{cause.text || "(no text)"}</a>}
      </p>
      {changed && cause.kind === "archived" && <p className="note">{record.by === null ? "Because of a label." : `Replaced by: ${record.by}`}</p>}
      {changed && cause.post !== null && !same && (
        <p className="note">
          Exposure: <a href={link(run, "post", cause.post)}>{cause.text || "(no text)"}</a>
        </p>
      )}
    </>
  );
}

function Details({ cause, run }: { cause: Cause; run: string }): JSX.Element | null {
  const { record } = cause;
  if (cause.author === null && record === null) return null;
  return (
    <p className="facts">
      {cause.author !== null && <a href={link(run, "agent", cause.author)}>{cause.name}</a>}
      {record && (
        <span>
          {record.polarity > 0 ? "for" : "against"}, strength {plain(record.strength)}
        </span>
      )}
      {cause.stance !== null && (
        <span>
          says <Stance value={cause.stance} />
        </span>
      )}
      {cause.trust !== null && <span>trust {plain(cause.trust)}</span>}
      {cause.first_seen !== null && (
        <span>
          {cause.first_seen ? "first seen" : "seen before"}
          {cause.novelty !== null && `, novelty ×${plain(cause.novelty, 1)}`}
        </span>
      )}
      {cause.label && <Tag kind="label">{cause.label}</Tag>}
      {cause.weight !== null && cause.weight < 1 && <span>label weight {plain(cause.weight)}</span>}
    </p>
  );
}

interface TrackProperties {
  bar: { from: number; to: number };
  amount: number;
  scale: ScaleOf;
  digits: number;
}

function Track({ bar, amount, scale, digits }: TrackProperties): JSX.Element {
  const left = scale.at(Math.min(bar.from, bar.to));
  const width = Math.max(Math.abs(scale.at(bar.to) - scale.at(bar.from)), 0.35);
  // Beside the bar where there is room for the number, else upon it.
  const room = 28;
  const next = left + width <= 100 - room ? { left: `${left + width}%` } : left >= room ? { right: `${100 - left}%` } : null;
  const upon = next === null;
  return (
    <div className="track" role="cell">
      <i className={amount >= 0 ? "bar pro" : "bar con"} style={{ left: `${left}%`, width: `${width}%` }} />
      <span className={upon ? "amount upon" : "amount"} style={next ?? { right: `${100 - left - width}%` }}>
        {signed(amount, digits)}
      </span>
    </div>
  );
}

interface Left {
  stance: number;
  recorded: number;
  method: "exact" | "additive" | "subtracted";
}

const METHODS: Record<Left["method"], string> = {
  exact: "The rule was re-executed for this step without this row. With all rows it reproduces the recorded stance exactly.",
  additive: "Contributions add up in log odds, so this one was subtracted. Records that it had archived stay archived.",
  subtracted: "Its contribution was subtracted. This rule cannot be re-executed from the record, so other rows might have counted more.",
};

function WithoutIt({ where, cause, digits }: { where: Place; cause: Cause; digits: number }): JSX.Element {
  const answer = useAnswer<Left>("/api/without", { ...where, rank: cause.rank ?? -1, post: cause.post });
  return (
    <div className="without" data-testid="without">
      <Answered of={answer}>
        {(left) => (
          <p>
            Without it, the stance after step {where.step} would be <Stance value={left.stance} digits={digits} /> instead of{" "}
            <Stance value={left.recorded} digits={digits} />. <span className="muted">{METHODS[left.method]}</span>
          </p>
        )}
      </Answered>
    </div>
  );
}
