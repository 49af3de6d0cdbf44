// How a post spread: a tree of shares over time or a map of people, played; the same post in two arms side by side.
import { useEffect, useId, useMemo, useRef, useState, type JSX } from "react";
import { useAnswer, type Cascade, type Head } from "../api";
import { count, inDays, moment, plain, plural, words } from "../format";
import { Answered, Choice, isOn, Section, Toggle, Truth, type ViewProperties } from "../parts";
import { change, link } from "../route";
import { useColors, type Colors } from "../theme";
import { namesOf, useCommunities, type Communities } from "./communities";
import { beliefColor, map, period, Spread, tree, type Layout, type Spot } from "./spread";

const SECONDS = 12; // that a whole life takes to play
const SHOWS: [string, string][] = [
  ["", "tree over time"],
  ["map", "people by community"],
];

export function Cascades({ head, route, fresh, id }: ViewProperties & { id: number | null }): JSX.Element {
  const claim = isOn(route.query, "claim", true) ? 1 : null;
  const answer = useAnswer<Cascade>("/api/cascade", { run: head.id, post: id, claim }, fresh);
  const other = answer.data?.arms.find((arm) => arm.run === route.query.get("with") && arm.run !== head.id)?.run ?? "";
  const second = useAnswer<Cascade>(other ? "/api/cascade" : "", { run: other, like: head.id, post: answer.data?.post ?? null, claim });
  useEffect(() => {
    document.title = `Cascade · ${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <Answered of={answer}>
      {(first) => {
        const label = (run: string): string => first.arms.find((arm) => arm.run === run)?.label ?? run;
        const both = [first, ...(other && second.data?.run === other ? [second.data] : [])];
        const against = first.arms.filter((arm) => arm.run !== head.id).map((arm): [string, string] => [arm.run, arm.label]);
        return (
          <>
            <div className="controls">
              <ClaimChoice of={first} run={head.id} />
              <Choice label="Show" name="show" value={route.query.get("show") ?? ""} of={SHOWS} />
              {against.length > 0 && <Choice label="Beside" name="with" value={other} of={[["", "no other arm"], ...against]} />}
              {first.posts > 1 && <Toggle name="claim" label={`all ${count(first.posts)} posts of this claim`} value={claim === 1} usual />}
            </div>
            {other && both.length < 2 && !second.wrong && <p className="loading">Reading the other arm…</p>}
            {second.wrong && other && <p className="warn">{second.wrong.where}: {second.wrong.got}</p>}
            <Section title="How it spread" wide csv={{ name: "cascade", query: { run: head.id, post: first.post, claim } }} note={<Quote of={first} />}>
              <p className="finding" data-testid="finding">{finding(both, label, claim === 1)}</p>
              <Played both={both} head={head} label={label} show={route.query.get("show") ?? ""} asked={route.query.get("step")} />
            </Section>
          </>
        );
      }}
    </Answered>
  );
}

function ClaimChoice({ of, run }: { of: Cascade; run: string }): JSX.Element {
  const id = useId();
  const known = of.listed.some((row) => row.root === of.post);
  return (
    <div className="choice">
      <label htmlFor={id}>Claim</label>
      <select id={id} className="long" value={of.post} onChange={(event) => (location.hash = link(run, "cascade", Number(event.target.value)) + (location.hash.includes("?") ? `?${location.hash.split("?")[1]}` : ""))}>
        {!known && <option value={of.post}>{of.veracity === "unknown" ? "" : `${of.veracity}: `}{of.content.slice(0, 60) || `post ${of.post}`}</option>}
        {of.listed.map((row) => (
          <option key={row.root} value={row.root}>
            {row.veracity === "unknown" ? "" : `${row.veracity}, `}
            {plural(row.shares, "share")}: {row.content.slice(0, 60)}
          </option>
        ))}
      </select>
    </div>
  );
}

function Quote({ of }: { of: Cascade }): JSX.Element {
  return (
    <>
      “{of.content || "(no text)"}” <Truth veracity={of.veracity} /> <a href={link(of.run, "post", of.post)}>Open the post</a>
    </>
  );
}

// What a reader wants to know first, with the same numbers of the other arm beside it.
function finding(both: Cascade[], label: (run: string) => string, claim: boolean): string {
  const who = claim ? "the posts of this claim" : "this post";
  const sentences = both.map((of) => {
    const [reach, shares] = [of.seen.agent.length, of.shares.parent.filter((parent) => parent >= 0).length];
    const { first, last, people } = believed(of, of.last);
    const before = people ? `; the mean of their belief in the claim was ${plain(first)} when they first met it and ${plain(last)} when they last did (0: sure it is false, 1: sure it is true)` : "";
    return `${who} reached ${count(reach)} of ${count(of.people)} people through ${plural(shares, "share")}${before}`;
  });
  if (sentences.length < 2) return `${sentences[0]![0]!.toUpperCase()}${sentences[0]!.slice(1)}.`;
  return both.map((of, nth) => `${label(of.run)[0]!.toUpperCase()}${label(of.run).slice(1)}: ${sentences[nth]}.`).join(" ");
}

// Mean belief of those who saw the post up to a step: at their first and at their latest showing of its claim by then.
function believed({ beliefs, seen }: Cascade, step: number): { first: number; last: number; people: number } {
  const [first, last] = [new Map<number, number>(), new Map<number, number>()];
  const reached = new Set(seen.agent.filter((_, row) => seen.step[row]! <= step));
  beliefs.agent.forEach((agent, row) => {
    if (beliefs.step[row]! > step || !reached.has(agent)) return;
    if (!first.has(agent)) first.set(agent, beliefs.judged[row]!);
    last.set(agent, beliefs.judged[row]!);
  });
  const mean = (of: Map<number, number>): number => [...of.values()].reduce((sum, value) => sum + value, 0) / of.size;
  return { first: mean(first), last: mean(last), people: first.size };
}

interface PlayedProperties {
  both: Cascade[];
  head: Head;
  label: (run: string) => string;
  show: string;
  asked: string | null;
}

function Played({ both, head, label, show, asked }: PlayedProperties): JSX.Element {
  const id = useId();
  const colors = useColors();
  const [start, end] = useMemo(() => {
    const periods = both.map(period);
    const from = Math.min(...periods.map(([at]) => at));
    return [from, Math.max(...periods.map(([at, span]) => at + span))];
  }, [both]);
  const wanted = asked !== null && /^\d{1,9}$/.test(asked) ? Math.min(Math.max(Number(asked), start), end) : end;
  const [at, setAt] = useState(wanted);
  const [playing, setPlaying] = useState(false);
  useEffect(() => setAt(wanted), [wanted]);
  useEffect(() => {
    if (!playing) return undefined;
    let [frame, before] = [0, performance.now()];
    const next = (now: number): void => {
      const passed = ((end - start) * (now - before)) / 1000 / SECONDS;
      before = now;
      setAt((old) => Math.min(end, old + passed));
      frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
    return () => cancelAnimationFrame(frame);
  }, [playing, start, end]);
  useEffect(() => {
    if (playing && at >= end) setPlaying(false);
  }, [playing, at, end]);
  const step = Math.floor(at);
  const press = (): void => {
    if (!playing && at >= end) setAt(start);
    if (playing) change({ step });
    setPlaying(!playing);
  };
  const where = useCommunities(head, "", show === "map");
  const layouts = useLayouts(both, where, show);
  return (
    <>
      <div className="stepper">
        <label htmlFor={id}>Time</label>
        <button type="button" className="icon" onClick={press} aria-label={playing ? "Pause" : "Play"} data-testid="play">
          {playing ? "❚❚" : "▶"}
        </button>
        <input
          id={id}
          type="range"
          min={start}
          max={end}
          value={step}
          data-testid="step"
          onChange={(event) => {
            setPlaying(false);
            change({ step: Number(event.target.value) });
          }}
        />
        <output htmlFor={id}>{moment(step, head.hours, head.last_step)}</output>
      </div>
      <div className={both.length > 1 ? "pair" : ""}>
        {both.map((of, nth) => (
          <figure key={of.run} className="cascade">
            {both.length > 1 && <figcaption>{label(of.run)}</figcaption>}
            {layouts[nth] ? <Drawn of={of} layout={layouts[nth]} at={at} span={[start, end]} timed={show !== "map"} colors={colors} /> : <p className="loading">Finding communities…</p>}
            <Counts of={of} step={step >= end ? of.last : step} />
          </figure>
        ))}
      </div>
      <Legend colors={colors} believed={both.some((of) => of.beliefs.agent.length > 0)} timed={show !== "map"} hours={head.hours} last={end} />
      {show === "map" && (
        <div className={both.length > 1 ? "pair" : ""}>
          {both.map((of) => (
            <Into key={of.run} of={of} where={where} step={step >= end ? of.last : step} />
          ))}
        </div>
      )}
    </>
  );
}

function useLayouts(both: Cascade[], { network, placed }: Communities, show: string): (Layout | null)[] {
  return useMemo(() => {
    if (show !== "map") return both.map(tree);
    if (!network || !placed) return both.map(() => null);
    const [xs, ys] = [placed.x, placed.y];
    const low = (values: Float64Array): number => values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = (values: Float64Array): number => values.reduce((a, b) => Math.max(a, b), -Infinity);
    const [left, top, width, height] = [low(xs), low(ys), high(xs) - low(xs) || 1, high(ys) - low(ys) || 1];
    const everybody = network.agent.map((_, row): Spot => ({ x: (xs[row]! - left) / width, y: 1 - (ys[row]! - top) / height }));
    const row = new Map(network.agent.map((agent, nth) => [agent, nth]));
    return both.map((of) => map(of, (agent) => everybody[row.get(agent) ?? -1] ?? null, everybody, width / height));
  }, [both, show, network, placed]);
}

interface DrawnProperties {
  of: Cascade;
  layout: Layout;
  at: number;
  span: [number, number];
  timed: boolean;
  colors: Colors;
}

function Drawn({ of, layout, at, span, timed, colors }: DrawnProperties): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const spread = useRef<Spread | null>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    if (canvas.current) watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width) spread.current = new Spread(canvas.current, of, layout, colors, timed ? span : null);
  }, [of, layout, colors, width, timed, span[0], span[1]]);
  useEffect(() => {
    spread.current?.show(at);
    if (canvas.current) canvas.current.dataset["ready"] = "1";
  }, [at, of, layout, colors, width, timed, span[0], span[1]]);
  const open = (event: { nativeEvent: MouseEvent }): void => {
    const agent = spread.current?.near(event.nativeEvent.offsetX, event.nativeEvent.offsetY);
    if (agent !== null && agent !== undefined) location.hash = link(of.run, "agent", agent);
  };
  return <canvas ref={canvas} className="spread" data-testid="cascade" role="img" aria-label="The post as it spread; the numbers below say the same, and the CSV has every person" onClick={open} />;
}

function Counts({ of, step }: { of: Cascade; step: number }): JSX.Element {
  const until = (steps: number[]): number => steps.filter((each) => each <= step).length;
  const shares = of.shares.step.filter((each, row) => of.shares.parent[row]! >= 0 && each <= step).length;
  const { last, people } = useMemo(() => believed(of, step), [of, step]);
  const acts = new Map<string, number[]>();
  for (const act of of.acts) if (act.step <= step) acts.set(act.what, [...(acts.get(act.what) ?? []), act.step]);
  return (
    <p className="facts" data-testid="counts">
      <span>{plural(until(of.seen.step), "person").replace("persons", "people")} reached</span>
      <span>{plural(shares, "share")}</span>
      {people > 0 && <span>mean belief {plain(last)}</span>}
      {[...acts].map(([what, steps]) => (
        <span key={what}>
          {steps.length > 1 ? `${count(steps.length)} × ${words(what)}, first` : words(what)} at {moment(steps[0]!, of.hours, of.last)}
        </span>
      ))}
      {!of.acts.length && <span>no moderation of this post</span>}
    </p>
  );
}

// Who brought the post into each community: whom it reached first there, when, and who was the source of that showing.
function Into({ of, where: { network, placed }, step }: { of: Cascade; where: Communities; step: number }): JSX.Element | null {
  const rows = useMemo(() => {
    if (!network || !placed) return [];
    const disc = new Map(network.agent.map((agent, row) => [agent, placed.of[row]!]));
    const first = new Map<number, { people: number; row: number }>();
    of.seen.agent.forEach((agent, row) => {
      const at = disc.get(agent);
      if (at === undefined || of.seen.step[row]! > step) return;
      const known = first.get(at);
      first.set(at, { people: (known?.people ?? 0) + 1, row: known && of.seen.step[known.row]! <= of.seen.step[row]! ? known.row : row });
    });
    return [...first].map(([at, known]) => ({ at, ...known })).sort((a, b) => of.seen.step[a.row]! - of.seen.step[b.row]!);
  }, [of, network, placed, step]);
  if (!network || !placed || !rows.length) return null;
  const names = namesOf(network, placed);
  const who = new Map(network.agent.map((agent, row) => [agent, network.who[row]!]));
  const person = (agent: number): JSX.Element => <a href={link(of.run, "agent", agent)}>{who.get(agent) || `agent ${agent}`}</a>;
  return (
    <div className="scroll">
      <table data-testid="into">
        <caption>Arrival in each community, in order of time; communities without a row were not reached</caption>
        <thead>
          <tr>
            <th scope="col">community</th>
            <th scope="col" className="num">people reached</th>
            <th scope="col">arrival</th>
            <th scope="col">first person reached</th>
            <th scope="col">through a post or share of</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, people, row }) => {
            const from = of.seen.from[row]!;
            return (
              <tr key={at}>
                <th scope="row">{names[at]}</th>
                <td className="num">
                  {count(people)} of {count(placed.discs[at]!.members.length)}
                </td>
                <td>{moment(of.seen.step[row]!, of.hours, of.last)}</td>
                <td>{person(of.seen.agent[row]!)}</td>
                <td>
                  {from < 0 ? "" : <a href={link(of.run, "agent", of.shares.agent[from]!)}>{of.shares.who[from]}</a>}
                  {from >= 0 && of.shares.parent[from]! < 0 ? ", the author" : ""}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Legend({ colors, believed, timed, hours, last }: { colors: Colors; believed: boolean; timed: boolean; hours: number | null | undefined; last: number }): JSX.Element {
  const marks: [string, string][] = believed ? [[beliefColor(0.05, colors), "sure it is false"], [beliefColor(0.5, colors), "undecided"], [beliefColor(0.95, colors), "sure it is true"]] : [[colors.muted, "saw it"]];
  return (
    <div className="legend">
      {marks.map(([color, name]) => (
        <span key={name} className="stance">
          <i style={{ background: color }} aria-hidden="true" /> {name}
        </span>
      ))}
      <span>○ a share, ◯ (bold) the post itself</span>
      {timed ? <span>From left to right: time{hours ? `, in ${inDays(hours, last) ? "days" : "hours"}` : ", in steps"}. The height of a share's band is the number of people who first saw the post through it. Dashed: a verdict, note or takedown.</span> : <span>Places are those of the network view: discs are communities, in order of stance from left to right. Each line runs from the person whose post was shared to the person who shared it.</span>}
      <span className="muted">Click a mark to open the person.</span>
    </div>
  );
}
