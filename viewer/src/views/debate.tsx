// One debate: what was said, the stances beside each turn, and the records that moved them.
import { useEffect, useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer } from "../api";
import { axes, Chart, tooltip } from "../chart";
import { plain, signed, words } from "../format";
import { Answered, Choice, Csv, Section, Stance, Tag } from "../parts";
import type { Query, Route } from "../route";
import { useColors, type Colors } from "../theme";
import { side } from "./stances";

interface Claim {
  text: string;
  tag: string | null;
  polarity: number;
  strength: number;
}

interface Move {
  side: string;
  kind: string;
  stance: number;
  log_odds: number | null;
  claim: Claim | null;
  other: Claim | null;
}

interface Turn {
  turn: number;
  round: number;
  side: string;
  text: string;
  judged: number | null;
  before: (number | null)[];
  after: (number | null)[];
  moves: Move[];
  retrieved: (Claim | null)[];
}

interface Facts {
  id: string;
  arms: { slug: string; name: string }[];
  arm: string;
  statement: string;
  trials: number[];
  wanted: number;
  settings: Record<string, string>;
  failed: { arm: string; trial: number; error: string }[];
  trial: number | null;
  agents: { side: string; uptake: number; anchoring: number; persona: string; wanted: number; attained: number }[];
  turns: Turn[];
}

const SIDES = ["pro", "con"];
const KINDS: Record<string, string> = {
  accepted: "accepted",
  refused: "refused: near-duplicate of a record of equal or greater strength",
  archived: "archived: replaced by a stronger near-duplicate",
  restored: "restored",
  revised: "revised its stance; the cause is not recorded",
};

export function Debate({ route }: { route: Route }): JSX.Element {
  const { query } = route;
  const asked = { debate: route.run, arm: query.get("arm"), trial: query.get("trial") };
  const answer = useAnswer<Facts>("/api/debate", asked);
  useEffect(() => {
    document.title = `${route.run} · Townsquare`;
  }, [route.run]);
  return <Answered of={answer}>{(facts) => <Shown facts={facts} />}</Answered>;
}

function Shown({ facts }: { facts: Facts }): JSX.Element {
  const csv = { debate: facts.id, arm: facts.arm };
  const trials = facts.trials.map((trial): [string, string] => [String(trial), String(trial)]);
  return (
    <>
      <nav className="crumbs" aria-label="Place">
        <a href="#/runs">Runs</a> <span aria-hidden="true">/</span> <span className="run-id">{facts.id}</span>
      </nav>
      <div className="page-head">
        <h1>{facts.statement}</h1>
      </div>
      <p className="facts">
        {Object.entries(facts.settings).map(([name, value]) => (
          <span key={name}>
            {name}: {words(value)}
          </span>
        ))}
        <span>
          {facts.trials.length} of {facts.wanted} trials
        </span>
      </p>
      {facts.failed.map((failure) => (
        <p key={`${failure.arm} ${failure.trial}`} className="warn">
          Trial {failure.trial} of {failure.arm} failed: {failure.error}
        </p>
      ))}
      <div className="controls">
        {facts.arms.length > 1 && <Choice label="Arm" name="arm" value={facts.arm} of={facts.arms.map((arm) => [arm.slug, arm.name])} />}
        {facts.trial !== null && <Choice label="Trial" name="trial" value={String(facts.trial)} of={trials} />}
      </div>
      {facts.trial === null ? <p>This arm has no finished trial yet.</p> : <Trial facts={facts} csv={csv} />}
    </>
  );
}

function Trial({ facts, csv }: { facts: Facts; csv: Query }): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => courseOption(facts.turns, colors), [facts.turns, colors]);
  return (
    <>
      <div className="cards">
        <Section title="Stance after each turn" csv={{ name: "turns", query: csv }} note="Lines: the stance that each debater reports. Points: the stance that the judge infers from each message.">
          <Chart name="debate-course" label="Stances of both sides after each turn" option={option} height={240} />
        </Section>
        <Section title="Starting conditions" csv={{ name: "sides", query: csv }}>
          <ul className="posts">
            {facts.agents.map((agent) => (
              <li key={agent.side}>
                <p className="facts">
                  <strong>{agent.side}</strong>
                  <span>uptake {plain(agent.uptake)}</span>
                  <span>anchoring {plain(agent.anchoring)}</span>
                  <span>
                    initial stance <Stance value={agent.attained} /> (asked for: {signed(agent.wanted, 2)})
                  </span>
                </p>
                {agent.persona && <p className="quote">{agent.persona}</p>}
              </li>
            ))}
          </ul>
        </Section>
      </div>
      <div className="card-head">
        <h2>Transcript</h2>
        <Csv name="moves" query={csv} title="Changes of stance by record" />
      </div>
      <ol className="turns" data-testid="transcript">
        {facts.turns.map((turn) => (
          <TurnCard key={turn.turn} turn={turn} />
        ))}
      </ol>
    </>
  );
}

function TurnCard({ turn }: { turn: Turn }): JSX.Element {
  return (
    <li className={`card turn ${turn.side}`}>
      <div>
        <p className="facts">
          <strong>{turn.side}</strong>
          <span>
            round {turn.round}, turn {turn.turn}
          </span>
          {turn.judged !== null && (
            <span>
              stance that the judge infers: <Stance value={turn.judged} />
            </span>
          )}
        </p>
        <p className="quote">{turn.text}</p>
        {turn.retrieved.length > 0 && (
          <details>
            <summary>{turn.retrieved.length} records retrieved for this message</summary>
            <ul className="moves">{turn.retrieved.map((claim, nth) => claim && <li key={nth}>{claim.text}</li>)}</ul>
          </details>
        )}
      </div>
      <div>
        {SIDES.map((name, side) => (
          <StanceLine key={name} name={name} before={turn.before[side] ?? null} after={turn.after[side] ?? null} />
        ))}
        <ul className="moves">
          {turn.moves.map((move, nth) => (
            <li key={nth}>
              <MoveLine move={move} />
            </li>
          ))}
        </ul>
      </div>
    </li>
  );
}

function StanceLine({ name, before, after }: { name: string; before: number | null; after: number | null }): JSX.Element | null {
  if (before === null || after === null) return null;
  return (
    <p className="facts">
      <strong>{name}</strong> <Stance value={before} digits={3} /> → <Stance value={after} digits={3} />
      <span>{signed(after - before)}</span>
    </p>
  );
}

function MoveLine({ move }: { move: Move }): JSX.Element {
  const claim = move.kind === "refused" ? move.other : move.claim;
  return (
    <>
      <Tag kind={move.stance > 0 ? "true" : move.stance < 0 ? "false" : "plain"}>
        {move.side} {signed(move.stance)}
      </Tag>{" "}
      {KINDS[move.kind] ?? words(move.kind)}
      {move.log_odds !== null && <span className="muted"> ({signed(move.log_odds)} log odds)</span>}
      {claim && (
        <span className="muted">
          : {claim.polarity > 0 ? "for" : "against"}, strength {plain(claim.strength)}: {claim.text}
        </span>
      )}
    </>
  );
}

function courseOption(turns: Turn[], colors: Colors): EChartsCoreOption {
  const color = [colors.pro, colors.con];
  const lines = SIDES.map((name, side) => ({
    name,
    type: "line",
    data: [[0, turns[0]?.before[side] ?? null], ...turns.map((turn) => [turn.turn, turn.after[side] ?? null])],
    symbolSize: 5,
    lineStyle: { color: color[side], width: 2.5, type: side ? "dashed" : "solid" },
    itemStyle: { color: color[side] },
    endLabel: { show: true, formatter: "{a}", color: color[side] },
  }));
  const judged = SIDES.map((name, side) => ({
    name: `${name}, judged`,
    type: "scatter",
    symbol: side ? "triangle" : "circle",
    symbolSize: 9,
    itemStyle: { color: "transparent", borderColor: color[side], borderWidth: 1.5 },
    data: turns.flatMap((turn) => (turn.side === name && turn.judged !== null ? [[turn.turn, turn.judged]] : [])),
  }));
  return {
    ...axes(colors, { min: 0, max: turns.length }, { min: -1, max: 1, interval: 0.5, axisLabel: { formatter: side, color: colors.muted } }),
    grid: { left: 8, right: 44, top: 12, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => signed(value, 3) }),
    series: [...lines, ...judged],
  };
}
