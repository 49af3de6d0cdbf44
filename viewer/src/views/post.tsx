// One post: its thread and cascade, what moderators and notes said, who saw it, whom it moved.
import { useEffect, useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer, type PostFacts } from "../api";
import { axes, Chart, tooltip } from "../chart";
import { count, digitsFor, percent, plain, signed, words } from "../format";
import { Answered, Csv, Section, Stance, Tag, Truth, type ViewProperties } from "../parts";
import { link } from "../route";
import { useColors, type Colors } from "../theme";

export function Post({ head, fresh, id }: ViewProperties & { id: number }): JSX.Element {
  const answer = useAnswer<PostFacts>("/api/post", { run: head.id, post: id }, fresh);
  useEffect(() => {
    document.title = `Post ${id} · ${head.id} · Townsquare`;
  }, [id, head.id]);
  return <Answered of={answer}>{(found) => <Shown found={found} run={head.id} unit={head.unit} last={head.last_step} />}</Answered>;
}

interface ShownProperties {
  found: PostFacts;
  run: string;
  unit: string;
  last: number;
}

function Shown({ found, run, unit, last }: ShownProperties): JSX.Element {
  const query = { run, post: found.post };
  return (
    <>
      <Top found={found} run={run} />
      <div className="cards">
        <Section title="Who saw it" csv={{ name: "seen", query }} note={`${count(found.reach)} agents in all. Area: reached so far; bars: shown in that step, lighter where it carried a label.`}>
          <Seen found={found} last={last} />
          <SeenBy found={found} run={run} />
        </Section>
        <Section title="Whom it moved" csv={{ name: "moved", query }} note={`Sums of contributions in ${unit}; open an agent for the step in which it moved most.`}>
          <Moved found={found} run={run} />
        </Section>
        <Section title="Verdicts and takedowns" csv={{ name: "verdicts", query }}>
          <Verdicts found={found} />
        </Section>
        <Section title="Community notes" csv={{ name: "notes", query }}>
          <Notes found={found} run={run} />
        </Section>
        <Section title="Cascade and thread" wide csv={{ name: "thread", query }} note="Shares stand under what they were made from, comments under what they answer.">
          <Thread found={found} run={run} />
        </Section>
      </div>
    </>
  );
}

function Top({ found, run }: { found: PostFacts; run: string }): JSX.Element {
  const counts = Object.entries(found.counts).filter(([, value]) => value > 0);
  return (
    <article className="card post" data-testid="post">
      <p className="big-quote">{found.content || "(no text)"}</p>
      <p className="facts">
        <a href={link(run, "agent", found.author)}>{found.who}</a>
        <span>
          {words(found.kind)}, step {found.step}
        </span>
        <Truth veracity={found.veracity} />
        <span>plausibility {plain(found.plausibility)}</span>
        {found.stances.map((one) => (
          <span key={one.proposition}>
            {words(one.proposition)} <Stance value={one.stance} />
          </span>
        ))}
        {counts.map(([name, value]) => (
          <span key={name}>
            {count(value)} {name}
          </span>
        ))}
        {found.parent >= 0 && <a href={link(run, "post", found.parent)}>what it answers</a>}
      </p>
    </article>
  );
}

function Seen({ found, last }: { found: PostFacts; last: number }): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => seenOption(found, last, colors), [found, last, colors]);
  if (!found.seen.step.length) return <p className="muted">Nobody was shown it.</p>;
  return <Chart name="seen" label="Agents reached and exposures by step" option={option} height={220} />;
}

function seenOption(found: PostFacts, last: number, colors: Colors): EChartsCoreOption {
  const { step, reach, exposures, labeled } = found.seen;
  const bar = (name: string, values: (number | undefined)[], opacity: number): object => ({
    name,
    type: "bar",
    stack: "shown",
    barMaxWidth: 14,
    data: step.map((one, row) => [one, values[row] ?? 0]),
    itemStyle: { color: colors.muted, opacity },
    z: 3,
  });
  const bare = exposures.map((value, row) => value - (labeled[row] ?? 0));
  return {
    ...axes(colors, { min: 0, max: last + 0.5, axisLabel: { showMaxLabel: false, color: colors.muted } }),
    tooltip: tooltip(colors, { trigger: "axis" }),
    series: [
      {
        name: "reached so far",
        type: "line",
        step: "end",
        showSymbol: false,
        data: step.map((one, row) => [one, reach[row]]),
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

function SeenBy({ found, run }: { found: PostFacts; run: string }): JSX.Element | null {
  if (!found.seen_by.length) return null;
  return (
    <details>
      <summary>Agents that were shown it, in order</summary>
      <p>
        <Csv name="seen-by" query={{ run, post: found.post }} title="Agents that were shown it" />
      </p>
      <ul className="names tall" data-testid="seen-by">
        {found.seen_by.map((one) => (
          <li key={one.agent}>
            <a href={link(run, "agent", one.agent, { step: one.first })}>{one.who}</a>{" "}
            <span className="muted">
              step {one.first}, {count(one.times)}×
            </span>
          </li>
        ))}
      </ul>
      {found.reach > found.seen_by.length && <p className="note">The CSV has all {count(found.reach)}.</p>}
    </details>
  );
}

function Moved({ found, run }: { found: PostFacts; run: string }): JSX.Element {
  if (!found.moved.length) return <p className="muted">Nobody, as far as the trail says.</p>;
  const digits = digitsFor(Math.max(...found.moved.map((one) => Math.abs(one.amount))));
  return (
    <div className="scroll tall">
      <table data-testid="moved">
        <thead>
          <tr>
            <th scope="col">agent</th>
            <th scope="col">proposition</th>
            <th scope="col" className="num">moved by</th>
            <th scope="col" className="num">times</th>
          </tr>
        </thead>
        <tbody>
          {found.moved.map((one) => (
            <tr key={`${one.agent} ${one.proposition}`}>
              <th scope="row">
                <a href={link(run, "agent", one.agent, { step: one.most_at, p: one.proposition })}>{one.who}</a>
              </th>
              <td>{words(one.proposition)}</td>
              <td className="num">{signed(one.amount, digits)}</td>
              <td className="num">{one.times}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Verdicts({ found }: { found: PostFacts }): JSX.Element {
  if (!found.verdicts.length && !found.acts.length) return <p className="muted">No moderator looked at it.</p>;
  return (
    <ul className="posts">
      {found.verdicts.map((one) => (
        <li key={`${one.step} ${one.verdict}`}>
          <p className="facts">
            <Tag kind="label">verdict: {one.verdict}</Tag>
            <span>step {one.step}</span>
            <span>confidence {percent(one.confidence)}</span>
          </p>
          {one.explanation && <p className="quote">{one.explanation}</p>}
          {one.sources && <p className="note">Consulted: {one.sources}</p>}
        </li>
      ))}
      {found.acts
        .filter((one) => one.what !== "verdict")
        .map((one) => (
          <li key={`${one.step} ${one.what} ${one.value}`}>
            <p className="facts">
              <Tag kind={one.what === "takedown" ? "gone" : "label"}>{words(one.what)}</Tag>
              <span>step {one.step}</span>
              <span>{one.reason}</span>
            </p>
          </li>
        ))}
    </ul>
  );
}

function Notes({ found, run }: { found: PostFacts; run: string }): JSX.Element {
  if (!found.notes.length) return <p className="muted">Nobody wrote a note.</p>;
  return (
    <ul className="posts tall" data-testid="notes">
      {found.notes.map((note) => (
        <li key={note.note}>
          <p className="quote">{note.content}</p>
          <p className="facts">
            <a href={link(run, "agent", note.author)}>{note.who}</a>
            <span>step {note.step}</span>
            <span>{count(note.helpful)} helpful</span>
            {note.somewhat > 0 && <span>{count(note.somewhat)} somewhat</span>}
            <span>{count(note.not_helpful)} not</span>
            {note.intercept !== null && <span>intercept {signed(note.intercept)}</span>}
            {note.factor !== null && <span>factor {signed(note.factor)}</span>}
            {note.shown ? (
              <Tag kind="label">shown from step {(note.decided ?? note.step) + 1}</Tag>
            ) : (
              <span>{words(note.status)}</span>
            )}
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

function Thread({ found, run }: { found: PostFacts; run: string }): JSX.Element {
  const placed = useMemo(() => inOrder(found), [found]);
  const shares = found.thread.filter((one) => one.kind === "share").length;
  const deepest = Math.max(0, ...placed.map((one) => one.depth));
  if (!placed.length) return <p className="muted">Nobody shared it or answered.</p>;
  return (
    <>
      <p className="facts">
        <span>{count(shares)} shares</span>
        <span>{count(found.thread.length - shares)} comments</span>
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
function inOrder(found: PostFacts): Placed[] {
  const below = new Map<number, PostFacts["thread"]>();
  for (const row of found.thread) {
    const list = below.get(row.parent) ?? [];
    list.push(row);
    below.set(row.parent, list);
  }
  const placed: Placed[] = [];
  const waiting: Placed[] = (below.get(found.post) ?? []).map((row) => ({ row, depth: 1 })).reverse();
  while (waiting.length) {
    const next = waiting.pop();
    if (!next) break;
    placed.push(next);
    const children = (below.get(next.row.post) ?? []).map((row) => ({ row, depth: next.depth + 1 }));
    waiting.push(...children.reverse());
  }
  return placed;
}
