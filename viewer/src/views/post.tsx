// One post: its thread and cascade, what moderators and notes said, who saw it, whom it moved.
import { useEffect, useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer, type PostFacts } from "../api";
import { axes, Chart, timeAxis, tooltip } from "../chart";
import { count, digitsFor, moment, percent, plain, plural, signed, words } from "../format";
import { Answered, Section, Stance, Tag, Truth, type ViewProperties } from "../parts";
import { link } from "../route";
import { useColors, type Colors } from "../theme";

export function Post({ head, fresh, id }: ViewProperties & { id: number }): JSX.Element {
  const answer = useAnswer<PostFacts>("/api/post", { run: head.id, post: id }, fresh);
  useEffect(() => {
    document.title = `Post ${id} · ${head.id} · Townsquare`;
  }, [id, head.id]);
  return <Answered of={answer}>{(facts) => <Shown facts={facts} run={head.id} unit={head.unit} time={{ last: head.last_step, hours: head.hours }} />}</Answered>;
}

interface ShownProperties {
  facts: PostFacts;
  run: string;
  unit: string;
  time: Time;
}

// The last step of a run and the length of a step, where it has one.
interface Time {
  last: number;
  hours: number | null | undefined;
}

function Shown({ facts, run, unit, time }: ShownProperties): JSX.Element {
  const query = { run, post: facts.post };
  return (
    <>
      <Top facts={facts} run={run} time={time} />
      <div className="cards">
        <Section title="Exposure" csv={{ name: "seen", query }} note={`${plural(facts.reach, "agent")} reached. Area: cumulative reach. Bars: exposures per step; lighter where a label was shown.`}>
          <Seen facts={facts} time={time} />
          <SeenBy facts={facts} run={run} />
        </Section>
        <Section title="Contributions to beliefs" csv={{ name: "moved", query }} note={`What the belief rule counted for this post in each agent's belief, in ${unit}; not a causal effect. Each name opens the agent at the step with the largest contribution.`}>
          <Moved facts={facts} run={run} />
        </Section>
        <Section title="Verdicts and takedowns" csv={{ name: "verdicts", query }}>
          <Verdicts facts={facts} />
        </Section>
        <Section title="Community notes" csv={{ name: "notes", query }}>
          <Notes facts={facts} run={run} />
        </Section>
        <Section
          title="Cascade and thread"
          wide
          csv={{ name: "thread", query }}
          note={
            <>
              Each share appears under the row it was shared from, each comment under the post it answers. <a href={`${link(run, "cascade", facts.post)}?claim=0`}>Play the cascade</a>
            </>
          }
        >
          <Thread facts={facts} run={run} />
        </Section>
      </div>
    </>
  );
}

function Top({ facts, run, time }: { facts: PostFacts; run: string; time: Time }): JSX.Element {
  const counts = Object.entries(facts.counts).filter(([, value]) => value > 0);
  return (
    <article className="card post" data-testid="post">
      <p className="big-quote">{facts.content || "(no text)"}</p>
      <p className="facts">
        <a href={link(run, "agent", facts.author)}>{facts.who}</a>
        <span>
          {words(facts.kind)}, {moment(facts.step, time.hours, time.last)}
        </span>
        <Truth veracity={facts.veracity} />
        <span>plausibility {plain(facts.plausibility)}</span>
        {facts.stances.map((row) => (
          <span key={row.proposition}>
            {words(row.proposition)} <Stance value={row.stance} />
          </span>
        ))}
        {counts.map(([name, value]) => (
          <span key={name}>
            {count(value)} {name}
          </span>
        ))}
        <a href={link(run, "network", null, { color: "post", post: facts.post })}>in the network</a>
        {facts.parent >= 0 && <a href={link(run, "post", facts.parent)}>post that it answers</a>}
      </p>
    </article>
  );
}

function Seen({ facts, time }: { facts: PostFacts; time: Time }): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => seenOption(facts, time, colors), [facts, time.last, time.hours, colors]);
  if (!facts.seen.step.length) return <p className="muted">No agent was shown this post.</p>;
  return <Chart name="seen" label="Agents reached and exposures by step" option={option} height={220} />;
}

function seenOption(facts: PostFacts, { last, hours }: Time, colors: Colors): EChartsCoreOption {
  const { step, reach, exposures, labeled } = facts.seen;
  const bar = (name: string, values: (number | undefined)[], opacity: number): object => ({
    name,
    type: "bar",
    stack: "shown",
    barMaxWidth: 14,
    data: step.map((at, row) => [at, values[row] ?? 0]),
    itemStyle: { color: colors.muted, opacity },
    z: 3,
  });
  const bare = exposures.map((value, row) => value - (labeled[row] ?? 0));
  return {
    ...axes(colors, { ...timeAxis(colors, hours, last), containShape: false }, { minInterval: 1 }),
    tooltip: tooltip(colors, { trigger: "axis" }),
    series: [
      {
        name: "cumulative reach",
        type: "line",
        step: "end",
        showSymbol: false,
        data: step.map((at, row) => [at, reach[row]]),
        lineStyle: { color: colors.accent, width: 2 },
        itemStyle: { color: colors.accent },
        areaStyle: { color: colors.accent, opacity: 0.12 },
        z: 2,
      },
      bar("shown without a label", bare, 0.85),
      bar("shown with a label", labeled, 0.4),
    ],
  };
}

function SeenBy({ facts, run }: { facts: PostFacts; run: string }): JSX.Element | null {
  if (!facts.seen_by.length) return null;
  return (
    <details>
      <summary>Agents shown this post, in order of first exposure</summary>
      <ul className="names tall" data-testid="seen-by">
        {facts.seen_by.map((row) => (
          <li key={row.agent}>
            <a href={link(run, "agent", row.agent, { step: row.first })}>{row.who}</a>{" "}
            <span className="muted">
              step {row.first}, {count(row.times)}×
            </span>
          </li>
        ))}
      </ul>
      {facts.reach > facts.seen_by.length && <p className="note">The CSV has all {count(facts.reach)}.</p>}
    </details>
  );
}

function Moved({ facts, run }: { facts: PostFacts; run: string }): JSX.Element {
  if (!facts.moved.length) return <p className="muted">The trail has no contribution of this post to a belief.</p>;
  const digits = digitsFor(Math.max(...facts.moved.map((row) => Math.abs(row.amount))));
  return (
    <div className="scroll tall">
      <table data-testid="moved">
        <thead>
          <tr>
            <th scope="col">agent</th>
            <th scope="col">proposition</th>
            <th scope="col" className="num">sum</th>
            <th scope="col" className="num">contributions</th>
          </tr>
        </thead>
        <tbody>
          {facts.moved.map((row) => (
            <tr key={`${row.agent} ${row.proposition}`}>
              <th scope="row">
                <a href={link(run, "agent", row.agent, { step: row.most_at, p: row.proposition })}>{row.who}</a>
              </th>
              <td>{words(row.proposition)}</td>
              <td className="num">{signed(row.amount, digits)}</td>
              <td className="num">{row.times}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Verdicts({ facts }: { facts: PostFacts }): JSX.Element {
  if (!facts.verdicts.length && !facts.acts.length) return <p className="muted">No moderation action.</p>;
  return (
    <ul className="posts">
      {facts.verdicts.map((row) => (
        <li key={`${row.step} ${row.verdict}`}>
          <p className="facts">
            <Tag kind="label">verdict: {row.verdict}</Tag>
            <span>step {row.step}</span>
            <span>confidence {percent(row.confidence)}</span>
          </p>
          {row.explanation && <p className="quote">{row.explanation}</p>}
          {row.sources && <p className="note">Consulted: {row.sources}</p>}
        </li>
      ))}
      {facts.acts
        .filter((row) => row.what !== "verdict")
        .map((row) => (
          <li key={`${row.step} ${row.what} ${row.value}`}>
            <p className="facts">
              <Tag kind={row.what === "takedown" ? "gone" : "label"}>{words(row.what)}</Tag>
              <span>step {row.step}</span>
              <span>{row.reason}</span>
            </p>
          </li>
        ))}
    </ul>
  );
}

function Notes({ facts, run }: { facts: PostFacts; run: string }): JSX.Element {
  if (!facts.notes.length) return <p className="muted">No notes.</p>;
  return (
    <ul className="posts tall" data-testid="notes">
      {facts.notes.map((note) => (
        <li key={note.note}>
          <p className="quote">{note.content}</p>
          <p className="facts">
            <a href={link(run, "agent", note.author)}>{note.who}</a>
            <span>step {note.step}</span>
            <span>{count(note.helpful)} helpful</span>
            {note.somewhat > 0 && <span>{count(note.somewhat)} somewhat helpful</span>}
            <span>{count(note.not_helpful)} not helpful</span>
            {note.intercept !== null && <span>intercept {signed(note.intercept)}</span>}
            {note.factor !== null && <span>factor {signed(note.factor)}</span>}
            {note.shown ? (
              <Tag kind="label">shown from step {(note.decided ?? note.step) + 1}</Tag>
            ) : (
              <span>{words(note.status)}</span>
            )}
            <a href={link(run, "notes", null, { note: note.note })}>Why</a>
          </p>
        </li>
      ))}
    </ul>
  );
}

const FIRST = 60;
const DEEPEST = 8;

interface Placed {
  row: PostFacts["thread"][number];
  depth: number;
}

function Thread({ facts, run }: { facts: PostFacts; run: string }): JSX.Element {
  const placed = useMemo(() => inOrder(facts), [facts]);
  const shares = facts.thread.filter((row) => row.kind === "share").length;
  const deepest = Math.max(0, ...placed.map((row) => row.depth));
  if (!placed.length) return <p className="muted">No shares or comments.</p>;
  return (
    <>
      <p className="facts">
        <span>{plural(shares, "share")}</span>
        <span>{plural(facts.thread.length - shares, "comment")}</span>
        <span>{deepest} deep</span>
      </p>
      <ol className="thread" data-testid="thread">
        {placed.slice(0, FIRST).map(({ row, depth }) => (
          <li key={row.post} style={{ marginInlineStart: `${Math.min(depth - 1, DEEPEST) * 1.1}rem` }}>
            <a href={link(run, "agent", row.author)}>{row.who}</a> <span className="muted">{row.kind === "share" ? "shared it" : "answered"} in step {row.step}</span>
            {row.kind === "comment" && (
              <p className="quote">
                <a href={link(run, "post", row.post)}>{row.content || "(no text)"}</a>
              </p>
            )}
          </li>
        ))}
      </ol>
      {placed.length > FIRST && <p className="note">The CSV has all {count(placed.length)}.</p>}
    </>
  );
}

// Depth first, so that each stands under its parent.
function inOrder(facts: PostFacts): Placed[] {
  const below = new Map<number, PostFacts["thread"]>();
  for (const row of facts.thread) {
    const list = below.get(row.parent) ?? [];
    list.push(row);
    below.set(row.parent, list);
  }
  const placed: Placed[] = [];
  const waiting: Placed[] = (below.get(facts.post) ?? []).map((row) => ({ row, depth: 1 })).reverse();
  while (waiting.length) {
    const next = waiting.pop();
    if (!next) break;
    placed.push(next);
    const children = (below.get(next.row.post) ?? []).map((row) => ({ row, depth: next.depth + 1 }));
    waiting.push(...children.reverse());
  }
  return placed;
}
