// The follow graph, colored by stance at a step and sized by followers.
import { useEffect, useId, useMemo, useRef, useState, type JSX } from "react";
import { useAnswer, type Network } from "../api";
import { count, plain, words } from "../format";
import { Answered, Choice, isOn, Problem, PropositionChoice, Section, Stance, StepSlider, stepOf, Toggle, type ViewProperties } from "../parts";
import { change, link } from "../route";
import { useColors } from "../theme";
import { Picture } from "./picture";

const TOP = 8;
const FOLLOWS_SHOWN = 3000;
const SIZES: [string, string][] = [
  ["", "followers"],
  ["moved", "influence on others"],
];

interface Around {
  follows: number[];
  followed_by: number[];
}

export function NetworkView({ head, route, fresh }: ViewProperties): JSX.Element {
  const step = stepOf(route.query, head.last_step);
  const p = route.query.get("p") ?? "";
  const network = useAnswer<Network>("/api/network", { run: head.id }, head.agents);
  const stances = useAnswer<ArrayBuffer>("/api/stances", { run: head.id, proposition: p, step }, fresh, "bytes");
  const codes = useMemo(() => new Int8Array(stances.data ?? new ArrayBuffer(0)), [stances.data]);
  const text = route.query.get("agent");
  const chosen = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
  const size = head.trail && route.query.get("size") === "moved" ? "moved" : "";
  const moved = useAnswer<{ moved: number[] }>(size ? "/api/influence" : "", { run: head.id }, size ? fresh : 0).data?.moved ?? null;
  const around = useAnswer<Around>(chosen === null ? "" : "/api/neighbors", { run: head.id, agent: chosen }).data;
  useEffect(() => {
    document.title = `Network · ${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <>
      <div className="controls">
        <PropositionChoice of={head.propositions} value={p} />
        <StepSlider value={step} last={head.last_step} />
        {head.trail && <Choice label="Size" name="size" value={size} of={SIZES} />}
      </div>
      {stances.wrong && <Problem wrong={stances.wrong} />}
      <Section title={`Follow network with stances at step ${step}`} wide csv={{ name: "network", query: { run: head.id, proposition: p, step } }}>
        <Answered of={network}>
          {(data) => (
            <div className="network">
              <Drawn
                network={data}
                codes={codes}
                step={step}
                chosen={chosen}
                around={chosen === null ? null : around}
                ready={stances.data !== null && (size === "" || moved !== null)}
                follows={isOn(route.query, "follows", data.agent.length <= FOLLOWS_SHOWN)}
                moved={size ? moved : null}
              />
              <Beside
                run={head.id}
                network={data}
                codes={codes}
                chosen={chosen}
                around={around}
                query={{ p, step: route.query.get("step") }}
                moved={size ? moved : null}
                unit={head.unit}
              />
            </div>
          )}
        </Answered>
      </Section>
    </>
  );
}

interface DrawnProperties {
  network: Network;
  codes: Int8Array;
  step: number;
  chosen: number | null;
  around: Around | null;
  ready: boolean;
  follows: boolean;
  moved: number[] | null;
}

function Drawn({ network, codes, step, chosen, around, ready, follows, moved }: DrawnProperties): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture | null>(null);
  const [failed, setFailed] = useState(false);
  const colors = useColors();
  useEffect(() => {
    if (!box.current) return undefined;
    try {
      picture.current = new Picture(box.current, network, (agent) => change({ agent }));
    } catch {
      setFailed(true); // without WebGL: the lists beside the picture still work
    }
    return () => {
      picture.current?.close();
      picture.current = null;
    };
  }, [network]);
  const near = useMemo(() => new Set([...(around?.follows ?? []), ...(around?.followed_by ?? [])]), [around]);
  useEffect(() => {
    if (!ready) return;
    picture.current?.show({ stances: codes, step, chosen, around: near, follows, moved, colors });
    if (box.current) {
      box.current.dataset["ready"] = "1";
      box.current.dataset["step"] = String(step);
    }
  }, [network, codes, step, chosen, near, follows, moved, colors, ready]);
  const drawn = network.edges.length / 2;
  return (
    <div className="picture">
      <div ref={box} className="graph" data-testid="network" role="img" aria-label="Follow graph; the lists next to it name the same agents" />
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
        <Toggle name="follows" label="follows" value={follows} usual={network.agent.length <= FOLLOWS_SHOWN} />
        <span className="muted">
          {count(network.agent.length)} of {count(network.agents)} agents, {count(drawn)} of {count(network.follows)} follows
        </span>
      </div>
      <Legend size={moved ? "more influence on others" : "more followers"} />
    </div>
  );
}

function Legend({ size }: { size: string }): JSX.Element {
  return (
    <p className="legend">
      {[-1, -0.5, 0, 0.5, 1].map((value) => (
        <Stance key={value} value={value} digits={1} />
      ))}
      <span className="muted">stance, −1 against to +1 for; larger circle: {size}; black: a source</span>
    </p>
  );
}

interface BesideProperties {
  run: string;
  network: Network;
  codes: Int8Array;
  chosen: number | null;
  around: Around | null;
  query: { p: string; step: string | null };
  moved: number[] | null;
  unit: string;
}

function Beside({ run, network, codes, chosen, around, query, moved, unit }: BesideProperties): JSX.Element {
  const id = useId();
  const top = useMemo(() => largest(network, moved), [network, moved]);
  const names = useMemo(() => new Map(network.agent.map((agent, row) => [agent, network.who[row] ?? ""])), [network]);
  const stance = (agent: number): number | null => {
    const code = codes[agent] ?? -128;
    return code === -128 ? null : code / 127;
  };
  const item = (agent: number): JSX.Element => (
    <li key={agent}>
      <button type="button" className="link" onClick={() => change({ agent })}>
        {names.get(agent) ?? `agent ${agent}`}
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
        </>
      ) : (
        <>
          <h3>{names.get(chosen) ?? `agent ${chosen}`}</h3>
          <p>
            <Stance value={stance(chosen)} /> <a href={link(run, "agent", chosen, query)}>What moved this belief</a>
          </p>
          {moved && (
            <p className="note">
              What it wrote or passed on moved others by {plain(moved[chosen], 3)} in all, in {unit}.
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

function largest(network: Network, moved: number[] | null): number[] {
  const rows = network.agent.map((_, row) => row);
  const size = moved ? network.agent.map((agent) => moved[agent] ?? 0) : network.followers;
  rows.sort((a, b) => (size[b] ?? 0) - (size[a] ?? 0));
  return rows.slice(0, TOP).map((row) => network.agent[row] ?? 0);
}
