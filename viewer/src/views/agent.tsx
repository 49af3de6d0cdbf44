// One agent: who it is, how its beliefs went, what it was shown at a step, what it did, and why it moved.
import { useEffect, useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer, type Act, type AgentFacts, type Exposure, type InStep, type Memory } from "../api";
import { axes, Chart, markStep, timeAxis, tooltip } from "../chart";
import { count, digitsFor, moment, plain, plural, signed, tick, words } from "../format";
import { Answered, PropositionChoice, Section, StepSlider, Tag, stepOf, type ViewProperties } from "../parts";
import { change, compared, link } from "../route";
import { useColors, type Colors } from "../theme";
import { ClaimsSection } from "./claims";
import { RecordsSection } from "./records";
import { WaterfallView } from "./waterfall";

export function Agent({ head, route, fresh, id }: ViewProperties & { id: number }): JSX.Element {
  const facts = useAnswer<AgentFacts>("/api/agent", { run: head.id, agent: id }, fresh);
  const p = route.query.get("p") ?? "";
  const proposition = (head.propositions.find((known) => known.name === p) ?? head.propositions[0])?.name ?? "";
  useEffect(() => {
    document.title = `Agent ${id} · ${head.id} · Townsquare`;
  }, [id, head.id]);
  return (
    <Answered of={facts}>
      {(facts) => {
        const first = Math.min(facts.born + 1, head.last_step);
        const step = stepOf(route.query, head.last_step, Math.max(first, Math.min(1, head.last_step)), largest(facts, proposition) ?? head.last_step);
        return (
          <>
            <div className="page-head">
              <h1>{facts.who}</h1>
              <span className="muted">
                {facts.kind}, joined in step {facts.born}; follows {count(facts.follows)}, followed by {count(facts.followers)}
              </span>
              <a href={link(head.id, "network", null, { agent: id, p, step: route.query.get("step") })}>in the network</a>
              {head.comparison && facts.kind === "person" && (
                <a href={compared(head.comparison, id, { seed: head.seed ?? null, p, step: route.query.get("step") })}>in every arm</a>
              )}
            </div>
            {facts.kind === "person" ? (
              <Person head={head} facts={facts} step={step} first={first} proposition={proposition} fresh={fresh} />
            ) : (
              <p>A source only publishes. It has no feed, persona or beliefs.</p>
            )}
          </>
        );
      }}
    </Answered>
  );
}

// The step in which the stance changed most: where no step is asked for, that is what a reader wants to see explained.
function largest({ course }: AgentFacts, proposition: string): number | null {
  let [step, most, before] = [null as number | null, 0, null as number | null];
  course.proposition.forEach((name, row) => {
    if (name !== proposition) return;
    const stance = course.stance[row]!;
    const size = before === null ? 0 : Math.abs(stance - before);
    if (size > most) [step, most] = [course.step[row]!, size];
    before = stance;
  });
  return step;
}

interface PersonProperties {
  head: ViewProperties["head"];
  facts: AgentFacts;
  step: number;
  first: number;
  proposition: string;
  fresh: string;
}

function Person({ head, facts, step, first, proposition, fresh }: PersonProperties): JSX.Element {
  const run = head.id;
  const agent = facts.agent;
  const query = { run, agent, step };
  const shown = useAnswer<InStep>("/api/agent-step", query, fresh);
  const where = { run, agent, step, proposition };
  const moves = step >= 1;
  return (
    <>
      <div className="controls">
        <PropositionChoice of={head.propositions} value={proposition} />
        <StepSlider value={step} last={head.last_step} first={first} hours={head.hours} />
      </div>
      <div className="cards">
        <Section title="Stance and confidence over time" csv={{ name: "beliefs", query: { run, agent } }} note="Solid: stance (−1 to +1). Dashed: confidence (0 to 1). Click to choose a step.">
          <Course facts={facts} proposition={proposition} step={step} first={first} last={head.last_step} hours={head.hours} />
        </Section>
        <Section title="Persona" csv={{ name: "persona", query: { run, agent } }}>
          <Persona facts={facts} />
        </Section>
        {head.trail && moves && (
          <Section title={`What moved this belief in ${moment(step, head.hours, head.last_step)}`} wide csv={{ name: "why", query: { ...where } }}>
            <WaterfallView {...where} />
          </Section>
        )}
        {!head.trail && <p className="warn">This run was recorded without a trail, so the causes of belief changes are unknown.</p>}
        {facts.records && <RecordsSection {...where} />}
        {facts.claims && <ClaimsSection run={run} agent={agent} hours={head.hours} fresh={fresh} />}
        <Section title={`Actions in ${moment(step, head.hours, head.last_step)}`} csv={{ name: "actions", query }}>
          <Answered of={shown}>{(data) => <Actions acts={data.actions} run={run} />}</Answered>
        </Section>
        <Section title={`Feed in ${moment(step, head.hours, head.last_step)}`} csv={{ name: "exposures", query }}>
          <Answered of={shown}>{(data) => <Feed rows={data.exposures} run={run} />}</Answered>
        </Section>
        {head.memories && (
          <Section title={`Memories after ${moment(step, head.hours, head.last_step)}`} wide csv={{ name: "memories", query }} note="Most relevant first: importance times decay.">
            <Answered of={shown}>{(data) => <Memories rows={data.memories} run={run} />}</Answered>
          </Section>
        )}
      </div>
    </>
  );
}

interface CourseProperties {
  facts: AgentFacts;
  proposition: string;
  step: number;
  first: number;
  last: number;
  hours: number | null | undefined;
}

function Course({ facts, proposition, step, first, last, hours }: CourseProperties): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => courseOption(facts, proposition, step, hours, colors), [facts, proposition, step, hours, colors]);
  const chooseStep = (x: number): void => change({ step: Math.min(Math.max(Math.round(x), first), last) });
  const moves = useMemo(() => movesOption(facts, proposition, step, hours, colors), [facts, proposition, step, hours, colors]);
  return (
    <>
      <Chart name="agent-course" label="Stance and confidence of this agent over time" option={option} height={210} onPlace={chooseStep} />
      <h3>Change of stance in each step</h3>
      <Chart name="agent-moves" label="Change of stance of this agent in each step" option={moves} height={110} onPlace={chooseStep} />
    </>
  );
}

function movesOption(facts: AgentFacts, proposition: string, step: number, hours: number | null | undefined, colors: Colors): EChartsCoreOption {
  const rows = facts.course.proposition.flatMap((name, row) => (name === proposition ? [row] : []));
  const data = rows.slice(1).map((row, nth) => {
    const change = (facts.course.stance[row] ?? 0) - (facts.course.stance[rows[nth] ?? 0] ?? 0);
    const at = facts.course.step[row] ?? 0;
    return { value: [at, change], itemStyle: { color: change >= 0 ? colors.pro : colors.con, opacity: at === step ? 1 : 0.55 } };
  });
  const most = Math.max(...data.map((known) => Math.abs(known.value[1] ?? 0)), 1e-6);
  const label = { color: colors.muted, formatter: (value: number) => signed(value, digitsFor(most) - 1) };
  return {
    ...axes(colors, timeAxis(colors, hours, Math.max(...facts.course.step, 1)), { splitNumber: 2, axisLabel: label }),
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => signed(value, 5) }),
    series: [{ name: "change", type: "bar", data, barMaxWidth: 16 }],
  };
}

function courseOption(facts: AgentFacts, proposition: string, step: number, hours: number | null | undefined, colors: Colors): EChartsCoreOption {
  const rows = facts.course.proposition.flatMap((name, row) => (name === proposition ? [row] : []));
  const line = (name: "stance" | "confidence", color: string, type: string): object => ({
    name,
    type: "line",
    data: rows.map((row) => [facts.course.step[row], facts.course[name][row]]),
    showSymbol: rows.length < 60,
    symbolSize: 5,
    lineStyle: { color, width: name === "stance" ? 2.5 : 1.5, type },
    itemStyle: { color },
  });
  return {
    ...axes(colors, timeAxis(colors, hours, Math.max(...facts.course.step, 1)), { min: -1, max: 1, interval: 0.5, axisLabel: { color: colors.muted, formatter: tick } }),
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => signed(value, 4) }),
    series: [{ ...line("stance", colors.accent, "solid"), markLine: markStep(step, colors) }, line("confidence", colors.muted, "dashed")],
  };
}

function Persona({ facts }: { facts: AgentFacts }): JSX.Element {
  if (!facts.persona.length && !facts.persona_text && !facts.survey_text) return <p className="muted">No persona was recorded.</p>;
  return (
    <>
      {facts.persona_text && <p className="quote written persona-text">{facts.persona_text}</p>}
      {facts.survey_text && (
        <>
          <p className="quote written persona-text" data-testid="survey-text">
            {facts.survey_text}
          </p>
          <p className="note">The text is from the file of the population. Nothing in this run reads it; only a policy that asks a language model would.</p>
        </>
      )}
      <dl className="persona" data-testid="persona">
        {facts.persona.map((trait) => (
          <div key={trait.label}>
            <dt>{words(trait.label)}</dt>
            <dd>{trait.answer}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Memories({ rows, run }: { rows: Memory[]; run: string }): JSX.Element {
  if (!rows.length) return <p className="muted">No memories yet.</p>;
  return (
    <ul className="posts tall" data-testid="memories">
      {rows.map((row) => (
        <li key={row.memory}>
          <p className="quote">{row.post >= 0 ? <a href={link(run, "post", row.post)}>{row.content}</a> : row.content}</p>
          <p className="facts">
            <span>{words(row.kind)}</span>
            <span>step {row.step}</span>
            <span>importance {plain(row.importance)}</span>
            <span>relevance {plain(row.relevance)}</span>
            {row.accessed > row.step && <span>recalled in step {row.accessed}</span>}
          </p>
        </li>
      ))}
    </ul>
  );
}

// By the code of a rating; nothing for an action that rates nothing.
const SLOTS: Record<string, string> = { followed: "from a followed account", other: "from an account not followed" };
const RATINGS: Record<number, string> = { 0: "not helpful: ", 1: "helpful: ", 2: "somewhat helpful: " };

export function Actions({ acts, run }: { acts: Act[]; run: string }): JSX.Element {
  if (!acts.length) return <p className="muted">No action: the agent did nothing or was not online.</p>;
  return (
    <ul className="posts feed" data-testid="actions">
      {acts.map((act) => (
        <li key={act.ordinal}>
          <p className="facts">
            <strong>{words(act.kind)}</strong>
            {act.status === "refused" && <Tag kind="false">refused: {words(act.reason)}</Tag>}
            {act.on === "author" && <a href={link(run, "agent", act.target)}>agent {act.target}</a>}
          </p>
          {act.note && (
            <p className="quote">
              {RATINGS[act.helpful] ?? ""}
              {act.note}
            </p>
          )}
          {act.written && <p className="quote written">{act.written}</p>}
          {act.root !== null && act.content && (
            <p className="quote">
              <a href={link(run, "post", act.root)}>{act.content}</a>
            </p>
          )}
          {act.why && <p className="note">Why: {act.why}</p>}
        </li>
      ))}
    </ul>
  );
}

export function Feed({ rows, run }: { rows: Exposure[]; run: string }): JSX.Element {
  if (!rows.length) return <p className="muted">No feed: the agent was not online, or there were no posts.</p>;
  return (
    <ol className="posts feed" data-testid="feed">
      {rows.map((row) => (
        <li key={`${row.rank} ${row.post}`} className={row.under >= 0 ? "comment" : ""}>
          <a className="post-text" href={link(run, "post", row.root)}>
            {row.content || "(no text)"}
          </a>
          <p className="facts">
            <a href={link(run, "agent", row.author)}>{row.who}</a>
            <span>{SLOTS[row.slot] ?? words(row.slot)}</span>
            <span>{plural(row.likes, "like")}</span>
            <span>{row.first_seen ? "first seen" : "seen before"}</span>
            {row.verdict !== "none" && <Tag kind="label">verdict: {row.verdict}</Tag>}
            {row.note >= 0 && <Tag kind="label">note</Tag>}
            {row.offered >= 0 && <span>note offered for rating</span>}
            {row.weight < 1 && <span>label weight {plain(row.weight)}</span>}
          </p>
        </li>
      ))}
    </ol>
  );
}

