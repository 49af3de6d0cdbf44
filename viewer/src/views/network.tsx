// The follow graph by community: colored by stance, by the truth of posts seen on a claim, or by who saw a post.
import { useEffect, useId, useMemo, useRef, useState, type JSX } from "react";
import { useAnswer, type Network, type Page, type PostRow, type Reached } from "../api";
import { count, percent, plain, signed, words } from "../format";
import { Choice, isOn, Problem, PropositionChoice, Section, Stance, StepSlider, stepOf, Toggle, Truth, type ViewProperties } from "../parts";
import { change, link } from "../route";
import { stanceColor, useColors, type Colors } from "../theme";
import { Picture, type Band } from "./picture";
import { namesOf, useCommunities } from "./communities";
import { flows, type Places } from "./places";

const TOP = 8;
const NOT_THERE = -128;
const SIZES: [string, string][] = [
  ["", "followers"],
  ["moved", "influence on others"],
];
const COLORS: [string, string][] = [
  ["", "stance"],
  ["claim", "true and false posts seen"],
  ["post", "exposure to a post"],
];

const TABLE: Record<string, string> = { claim: "claim", post: "reach" };

interface Around {
  follows: number[];
  followed_by: number[];
}

// What the agents are colored by after a step, and what the colors mean.
interface Shades {
  of: (row: number) => string;
  ready: boolean;
  legend: [string, string][];
  about: string;
}

export function NetworkView({ head, route, fresh }: ViewProperties): JSX.Element {
  const step = stepOf(route.query, head.last_step);
  const p = route.query.get("p") ?? "";
  const by = route.query.get("color") ?? "";
  const { network, ends, placed, wrong: unplaced } = useCommunities(head, p);
  const stances = useAnswer<ArrayBuffer>("/api/stances", { run: head.id, proposition: p, step }, fresh, "bytes");
  const text = route.query.get("agent");
  const chosen = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
  const size = head.trail && route.query.get("size") === "moved" ? "moved" : "";
  const moved = useAnswer<{ moved: number[] }>(size ? "/api/influence" : "", { run: head.id }, size ? fresh : 0).data?.moved ?? null;
  const around = useAnswer<Around>(chosen === null ? "" : "/api/neighbors", { run: head.id, agent: chosen }).data;
  const codes = useMemo(() => new Int8Array(stances.data ?? new ArrayBuffer(0)), [stances.data]);
  useEffect(() => {
    document.title = `Network · ${head.id} · Townsquare`;
  }, [head.id]);
  const asked = route.query.get("post") ?? "";
  const falsePosts = useAnswer<Page<PostRow>>(by === "post" ? "/api/posts" : "", { run: head.id, veracity: "false" }, fresh);
  const every = useAnswer<Page<PostRow>>(falsePosts.data?.total === 0 ? "/api/posts" : "", { run: head.id }, fresh);
  const posts = falsePosts.data?.total === 0 ? every : falsePosts;
  const post = /^\d{1,9}$/.test(asked) ? Number(asked) : (posts.data?.rows[0]?.root ?? null);
  const wrong = unplaced ?? stances.wrong;
  return (
    <>
      <div className="controls">
        <Choice label="Color" name="color" value={by} of={COLORS} />
        <PropositionChoice of={head.propositions} value={p} />
        <StepSlider value={step} last={head.last_step} hours={head.hours} />
        {head.trail && <Choice label="Size" name="size" value={size} of={SIZES} />}
      </div>
      {wrong && <Problem wrong={wrong} />}
      <Section title="Network by community" wide csv={{ name: TABLE[by] ?? "network", query: { run: head.id, proposition: p, step, post: by === "post" ? post : null } }}>
        {!wrong && (!placed || !network || !ends) && <p className="loading">Finding communities…</p>}
        {placed && network && ends && (
          <Colored by={by} run={head.id} p={p} step={step} fresh={fresh} post={post} posts={posts.data?.rows ?? []} network={network} codes={codes}>
            {(shades) => (
              <div className="network">
                <Drawn
                  network={network}
                  placed={placed}
                  ends={ends}
                  codes={codes}
                  step={step}
                  chosen={chosen}
                  around={chosen === null ? null : around}
                  shades={{ ...shades, ready: shades.ready && stances.data !== null && (size === "" || moved !== null) }}
                  follows={isOn(route.query, "follows", !by)}
                  usual={!by}
                  moved={size ? moved : null}
                />
                <Beside run={head.id} network={network} placed={placed} codes={codes} chosen={chosen} around={around} query={{ p, step: route.query.get("step") }} moved={size ? moved : null} unit={head.unit} />
              </div>
            )}
          </Colored>
        )}
      </Section>
    </>
  );
}

interface ColoredProperties {
  by: string;
  run: string;
  p: string;
  step: number;
  fresh: string;
  post: number | null;
  posts: PostRow[];
  network: Network;
  codes: Int8Array;
  children: (shades: Shades) => JSX.Element;
}

function Colored({ by, run, p, step, fresh, post, posts, network, codes, children }: ColoredProperties): JSX.Element {
  const colors = useColors();
  const seen = useAnswer<ArrayBuffer>(by === "claim" ? "/api/false-share" : "", { run, proposition: p, step }, fresh, "bytes");
  const reached = useAnswer<Reached>(by === "post" && post !== null ? "/api/reached" : "", { run, post }, fresh);
  const shares = useMemo(() => new Int8Array(seen.data ?? new ArrayBuffer(0)), [seen.data]);
  const shades = useMemo((): Shades => {
    if (by === "post") return byPost(network, reached.data, step, colors);
    const claim = by === "claim";
    const of = byCode(network, claim ? shares : codes, claim ? -1 : 1, claim ? colors.soft : colors.ink, colors);
    const marks = [-1, -0.5, 0, 0.5, 1];
    if (!claim) {
      const stances = marks.map((value): [string, string] => [stanceColor(value, colors), signed(value, 1)]);
      return { of, ready: true, legend: [...stances, [colors.ink, "a source"]], about: "stance, from −1 (against) to +1 (for)" };
    }
    const legend = marks.map((value): [string, string] => [stanceColor(-value, colors), percent((value + 1) / 2)]);
    return { of, ready: seen.data !== null, legend: [...legend, [colors.soft, "saw none"]], about: "share of false posts in a person's views of true and false posts on this proposition; each view counts" };
  }, [by, network, reached.data, step, codes, shares, seen.data, colors]);
  const wrong = seen.wrong ?? reached.wrong;
  return (
    <>
      {wrong && <Problem wrong={wrong} />}
      {by === "post" && <PostChoice rows={posts} value={post} run={run} reached={reached.data} />}
      {children(shades)}
    </>
  );
}

// Colors of signed codes, each made once.
function byCode(network: Network, codes: Int8Array, sign: number, nothing: string, colors: Colors): (row: number) => string {
  const known = new Map([[NOT_THERE, nothing]]);
  return (row) => {
    const code = codes[network.agent[row] ?? 0] ?? NOT_THERE;
    const shade = known.get(code) ?? stanceColor((sign * code) / 127, colors);
    known.set(code, shade);
    return shade;
  };
}

function byPost(network: Network, reached: Reached | null, step: number, colors: Colors): Shades {
  const until = (rows: { agent: number[]; step: number[] } | undefined): Set<number> => new Set(rows?.agent.filter((_, row) => (rows.step[row] ?? 0) <= step));
  const [seen, shared] = [until(reached?.seen), until(reached?.shared)];
  const marks = { author: colors.ink, shared: colors.series[3] ?? colors.con, seen: colors.accent, none: colors.middle };
  const of = (row: number): string => {
    const agent = network.agent[row] ?? 0;
    return agent === reached?.author ? marks.author : shared.has(agent) ? marks.shared : seen.has(agent) ? marks.seen : marks.none;
  };
  const legend: [string, string][] = [[marks.author, "author"], [marks.shared, `shared it: ${count(shared.size)}`], [marks.seen, `saw it: ${count([...seen].filter((agent) => !shared.has(agent)).length)}`], [marks.none, "did not see it"]];
  return { of, ready: reached !== null, legend, about: `up to step ${step}` };
}

function PostChoice({ rows, value, run, reached }: { rows: PostRow[]; value: number | null; run: string; reached: Reached | null }): JSX.Element {
  const id = useId();
  const known = rows.some((row) => row.root === value);
  return (
    <div className="choice">
      <label htmlFor={id}>Post</label>
      <select id={id} className="long" value={value ?? ""} onChange={(event) => change({ post: event.target.value })}>
        {!known && value !== null && <option value={value}>post {value}</option>}
        {rows.map((row) => (
          <option key={row.root} value={row.root}>
            {row.root}: {row.content.slice(0, 70)}
          </option>
        ))}
      </select>
      {reached && (
        <span className="statement">
          “{reached.content}” <Truth veracity={reached.veracity} /> <a href={link(run, "post", reached.post)}>Open the post</a>
        </span>
      )}
    </div>
  );
}

interface DrawnProperties {
  network: Network;
  placed: Places;
  ends: Uint16Array;
  codes: Int8Array;
  step: number;
  chosen: number | null;
  around: Around | null;
  shades: Shades;
  follows: boolean;
  usual: boolean;
  moved: number[] | null;
}

function Drawn({ network, placed, ends, codes, step, chosen, around, shades, follows, usual, moved }: DrawnProperties): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture | null>(null);
  const [failed, setFailed] = useState(false);
  const colors = useColors();
  useEffect(() => {
    if (!box.current) return undefined;
    try {
      picture.current = new Picture(box.current, network, placed, namesOf(network, placed), (agent) => change({ agent }));
    } catch {
      setFailed(true); // without WebGL: the lists beside the picture still work
    }
    return () => {
      picture.current?.close();
      picture.current = null;
    };
  }, [network, placed]);
  const near = useMemo(() => new Set([...(around?.follows ?? []), ...(around?.followed_by ?? [])]), [around]);
  const linked = useMemo(() => linksOf(network, placed, ends, codes), [network, placed, ends, codes]);
  const ready = shades.ready;
  useEffect(() => {
    if (!ready) return;
    picture.current?.show({ color: shades.of, step, chosen, around: near, bands: follows ? linked.bands : [], moved, colors });
    if (box.current) {
      box.current.dataset["ready"] = "1";
      box.current.dataset["step"] = String(step);
    }
  }, [network, placed, shades.of, step, chosen, near, linked, follows, moved, colors, ready]);
  const [left, right] = [placed.discs.find((disc) => disc.stance !== null)?.stance, placed.discs.findLast((disc) => disc.stance !== null)?.stance];
  return (
    <div className="picture">
      <div ref={box} className="graph" data-testid="network" data-discs={placed.discs.length} role="img" aria-label="Follow graph by community; the lists next to it name the same communities and agents" />
      {!ready && <p className="loading">Reading the recorded run…</p>}
      {failed && <p className="warn">This browser has no WebGL, so the network cannot be drawn.</p>}
      <div className="toggles">
        <button type="button" onClick={() => picture.current?.zoom(0.7)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => picture.current?.zoom(1.4)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => picture.current?.reset()}>
          Whole graph
        </button>
        <Toggle name="follows" label="follows" value={follows} usual={usual} />
        <span className="muted">
          {count(network.agent.length)} of {count(network.agents)} agents, {count(ends.length / 2)} of {count(network.follows)} follows after the last step
        </span>
      </div>
      <p className="legend">
        {shades.legend.map(([color, name]) => (
          <span key={name} className="stance">
            <i style={{ background: color }} aria-hidden="true" />
            {name}
          </span>
        ))}
        <span className="muted">{shades.about}</span>
      </p>
      <dl className="key" data-testid="key">
        <dt>Disc</dt>
        <dd>{network.blocks ? `a block of the graph: the same answer to “${network.blocks.by}”` : "a community: people who follow each other more than others (Louvain’s method)"}. Area: members. In the middle: the most followed; larger circle: more {moved ? "influence on others" : "followers"}.</dd>
        <dt>Left to right</dt>
        <dd>
          mean stance of the community at the start, from {signed(left, 2)} to {signed(right, 2)}. Communities at a similar height follow each other more.
        </dd>
        <dt>Bands</dt>
        <dd>
          follows between communities: {percent(linked.between)} of all follows. <span className="across">Colored part</span>, and ring inside a community: cross-cutting follows, between people on opposite sides: {percent(linked.across)} ({percent(linked.chance)} if sides did not matter).
        </dd>
      </dl>
    </div>
  );
}

interface Links {
  bands: Band[]; // the largest first; those within a disc have its number at both ends
  between: number;
  across: number;
  chance: number;
}

function linksOf(network: Network, placed: Places, ends: Uint16Array, codes: Int8Array): Links {
  const side = Int8Array.from(network.agent, (agent) => ((codes[agent] ?? NOT_THERE) === NOT_THERE ? 0 : Math.sign(codes[agent] ?? 0)));
  const many = placed.discs.length;
  const opposite = (from: number, to: number): boolean => (side[from] ?? 0) * (side[to] ?? 0) < 0;
  const [all, across] = [flows(many, placed.of, ends), flows(many, placed.of, ends, opposite)];
  const bands: Band[] = [];
  for (let from = 0; from < many; from++) {
    for (let to = from; to < many; to++) {
      const both = (sums: Float64Array): number => (sums[from * many + to] ?? 0) + (from === to ? 0 : (sums[to * many + from] ?? 0));
      if (both(all)) bands.push({ from, to, all: both(all), across: both(across) });
    }
  }
  const sum = (of: Band[], part: "all" | "across"): number => of.reduce((total, band) => total + band[part], 0);
  const inside = bands.filter((band) => band.from === band.to);
  const [from, to] = [0, 1].map((end) => {
    const sides = [0, 0, 0];
    for (let at = end; at < ends.length; at += 2) if (side[ends[at - end] ?? 0] && side[ends[at - end + 1] ?? 0]) sides[1 + (side[ends[at] ?? 0] ?? 0)]!++;
    return sides;
  }) as [number[], number[]];
  const sided = from[0]! + from[2]!;
  return {
    bands: bands.sort((a, b) => b.all - a.all),
    between: 1 - sum(inside, "all") / (sum(bands, "all") || 1),
    across: sum(bands, "across") / (sided || 1),
    chance: (from[0]! * to[2]! + from[2]! * to[0]!) / (sided * sided || 1),
  };
}

interface BesideProperties {
  run: string;
  network: Network;
  placed: Places;
  codes: Int8Array;
  chosen: number | null;
  around: Around | null;
  query: { p: string; step: string | null };
  moved: number[] | null;
  unit: string;
}

function Beside({ run, network, placed, codes, chosen, around, query, moved, unit }: BesideProperties): JSX.Element {
  const id = useId();
  const top = useMemo(() => largest(network, moved), [network, moved]);
  const rows = useMemo(() => new Map(network.agent.map((agent, row) => [agent, row])), [network]);
  const name = (agent: number): string => network.who[rows.get(agent) ?? -1] ?? `agent ${agent}`;
  const community = (agent: number): string => {
    const disc = placed.of[rows.get(agent) ?? -1];
    return disc === undefined ? "" : placed.discs[disc]?.apart ? "in no community" : `community ${namesOf(network, placed)[disc]}`;
  };
  const stance = (agent: number): number | null => {
    const code = codes[agent] ?? NOT_THERE;
    return code === NOT_THERE ? null : code / 127;
  };
  const item = (agent: number): JSX.Element => (
    <li key={agent}>
      <button type="button" className="link" onClick={() => change({ agent })}>
        {name(agent)}
      </button>
      <Stance value={stance(agent)} />
    </li>
  );
  return (
    <aside className="beside">
      <div className="choice">
        <label htmlFor={id}>Agent</label>
        <input id={id} type="number" min={0} max={network.agents - 1} value={chosen ?? ""} onChange={(event) => change({ agent: event.target.value })} />
        {chosen !== null && (
          <button type="button" onClick={() => change({ agent: null })}>
            Clear
          </button>
        )}
      </div>
      {chosen === null ? (
        <>
          <h3>{moved ? "Largest influence on others" : "Most followers"}</h3>
          <ol className="list">{top.map(item)}</ol>
          <Communities network={network} placed={placed} stance={stance} />
        </>
      ) : (
        <>
          <h3>{name(chosen)}</h3>
          <p>
            <Stance value={stance(chosen)} /> <span className="muted">{community(chosen)}</span>
          </p>
          <p>
            <a href={link(run, "agent", chosen, query)}>What moved this belief</a>
          </p>
          {moved && (
            <p className="note">
              Its posts and shares contributed {plain(moved[chosen], 3)} to the beliefs of others in all, in {unit}, without signs.
            </p>
          )}
          <h3>{words(`follows ${count(around?.follows.length ?? 0)}`)}</h3>
          <ul className="list">{(around?.follows ?? []).slice(0, TOP).map(item)}</ul>
          <h3>followed by {count(around?.followed_by.length ?? 0)}</h3>
          <ul className="list">{(around?.followed_by ?? []).slice(0, TOP).map(item)}</ul>
        </>
      )}
    </aside>
  );
}

function Communities({ network, placed, stance }: { network: Network; placed: Places; stance: (agent: number) => number | null }): JSX.Element {
  const names = namesOf(network, placed);
  const bySize = placed.discs.map((disc, nth) => ({ disc, nth })).filter(({ disc }) => !disc.apart).sort((a, b) => b.disc.members.length - a.disc.members.length);
  const mean = (members: number[]): number | null => {
    const known = members.map((row) => stance(network.agent[row] ?? 0)).filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };
  return (
    <>
      <h3>{count(bySize.length)} communities: agents and mean stance of the largest</h3>
      <ul className="list" data-testid="communities">
        {bySize.slice(0, TOP).map(({ disc, nth }) => (
          <li key={nth}>
            <span>
              {network.blocks ? "" : "community "}
              {names[nth]} <span className="muted">{count(disc.members.length)}</span>
            </span>
            <Stance value={mean(disc.members)} />
          </li>
        ))}
      </ul>
    </>
  );
}

function largest(network: Network, moved: number[] | null): number[] {
  const rows = network.agent.map((_, row) => row);
  const size = moved ? network.agent.map((agent) => moved[agent] ?? 0) : network.followers;
  rows.sort((a, b) => (size[b] ?? 0) - (size[a] ?? 0));
  return rows.slice(0, TOP).map((row) => network.agent[row] ?? 0);
}
