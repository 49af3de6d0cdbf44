// The run at a glance: how stances moved, where they stand at a step, engagement, moderation, who took part.
import { useEffect, useMemo, type JSX } from "react";
import { useAnswer, type Activity, type Beliefs, type Head, type Lines } from "../api";
import { Chart } from "../chart";
import { count, moment, percent, signed, words } from "../format";
import { Answered, isOn, PropositionChoice, Section, StepSlider, stepOf, Toggle, type ViewProperties } from "../parts";
import { change, link } from "../route";
import { useColors } from "../theme";
import { engagementOption, eventsOption, participationOption, type Time } from "./activity";
import { distribution, rowsOf, trajectories } from "./stances";

export function Overview({ head, route, fresh }: ViewProperties): JSX.Element {
  const beliefs = useAnswer<Beliefs>("/api/beliefs", { run: head.id }, fresh);
  // One after the other: what is asked first is there first.
  const lines = useAnswer<Lines>(beliefs.data || beliefs.wrong ? "/api/lines" : "", { run: head.id }, fresh);
  const activity = useAnswer<Activity>(lines.data || lines.wrong ? "/api/activity" : "", { run: head.id }, fresh);
  const step = stepOf(route.query, head.last_step);
  const name = route.query.get("p") ?? "";
  const proposition = (head.propositions.find((entry) => entry.name === name) ?? head.propositions[0])?.proposition ?? 0;
  useEffect(() => {
    document.title = `${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <>
      <div className="controls">
        <PropositionChoice of={head.propositions} value={name} />
        <StepSlider value={step} last={head.last_step} hours={head.hours} />
      </div>
      <Answered of={beliefs}>
        {(data) => <StanceCards head={head} beliefs={data} lines={lines.data} proposition={proposition} step={step} query={{ p: name, step: route.query.get("step") }} bands={isOn(route.query, "bands", true)} single={isOn(route.query, "lines", true)} />}
      </Answered>
      <Answered of={activity}>
        {(data) => <ActivityCards run={head.id} activity={data} time={{ step, last: head.last_step, hours: head.hours }} />}
      </Answered>
    </>
  );
}

interface StanceProperties {
  head: Head;
  beliefs: Beliefs;
  lines: Lines | null;
  proposition: number;
  step: number;
  query: { p: string; step: string | null };
  bands: boolean;
  single: boolean;
}

function StanceCards({ head, beliefs, lines, proposition, step, query, bands, single }: StanceProperties): JSX.Element {
  const colors = useColors();
  const { id: run, hours, last_step: last } = head;
  const course = useMemo(() => trajectories(beliefs, proposition, colors, { bands, lines: single ? lines : null, step, hours }), [beliefs, proposition, colors, bands, single, lines, step, hours]);
  const bars = useMemo(() => distribution(beliefs, proposition, step, colors), [beliefs, proposition, step, colors]);
  const row = rowsOf(beliefs, proposition).find((entry) => beliefs.course.step[entry] === step);
  const moved = beliefs.change.find((entry) => entry.proposition === proposition);
  const now = `at ${moment(step, hours, last)}`;
  const whole = `from ${beliefs.since ? "the end of the warm-up" : "the start"} to ${moment(last, hours, last)}`;
  const pick = (series: string): void => {
    if (series.startsWith("agent-")) location.hash = link(run, "agent", Number(series.slice(6)), query);
  };
  return (
    <>
      <div className="figures">
        <Figure name="People" when={now} value={count(row === undefined ? null : beliefs.course.agents[row])} />
        <Figure name="Mean stance" when={now} value={signed(row === undefined ? null : beliefs.course.mean[row])} />
        <Figure name="Standard deviation of stances" when={now} value={row === undefined ? "–" : (beliefs.course.sd[row] ?? 0).toFixed(3)} />
        <Figure name="Mean shift per person" when={whole} value={signed(moved?.shift)} />
        <Figure name="People who changed sides" when={whole} value={percent(moved?.changed_side, 1)} />
        <Figure name="Final ÷ initial standard deviation" when={whole} value={percent(moved?.spread_kept)} />
      </div>
      <div className="cards">
        <Section title="Stance over time" csv={{ name: "course", query: { run } }} note="Stance from −1 (against) to +1 (for): mean with the middle 50% and 90% of people. Thin lines: individual people, spread evenly over initial stances. Click a line to open the person.">
          <div className="toggles">
            <Toggle name="bands" label="bands" value={bands} usual={true} />
            <Toggle name="lines" label={lines ? "individual agents" : "individual agents: reading the record…"} value={single} usual={true} />
          </div>
          <Chart name="trajectories" label="Stance over time: mean, bands and individual agents" option={course} height={300} onPick={(picked) => pick(picked.series)} />
        </Section>
        <Section title={`Distribution of stances ${now}`} csv={{ name: "distribution", query: { run } }} note="Number of people by stance, from −1 (against) to +1 (for). Outline: initial distribution.">
          <Chart name="distribution" label={`Number of people by stance ${now}`} option={bars} height={329} />
        </Section>
      </div>
    </>
  );
}

function Figure({ name, when, value }: { name: string; when: string; value: string }): JSX.Element {
  return (
    <div className="figure">
      <span className="figure-value">{value}</span>
      <span className="figure-name">{name}</span>
      <span className="figure-when">{when}</span>
    </div>
  );
}

interface ActivityProperties {
  run: string;
  activity: Activity;
  time: Time;
}

function ActivityCards({ run, activity, time }: ActivityProperties): JSX.Element {
  const colors = useColors();
  const { step, last, hours } = time;
  const engaged = useMemo(() => engagementOption(activity, { step, last, hours }, colors), [activity, step, last, hours, colors]);
  const events = useMemo(() => eventsOption(activity, { step, last, hours }, colors), [activity, step, last, hours, colors]);
  const taking = useMemo(() => participationOption(activity, { step, last, hours }, colors), [activity, step, last, hours, colors]);
  const csv = (name: string): { name: string; query: { run: string } } => ({ name, query: { run } });
  const reasons = activity.refusals.map((entry) => `${count(entry.actions)} ${words(entry.reason)}`).join(", ");
  return (
    <div className="cards three">
      <Section title="Engagement per post: true vs. false posts" csv={csv("engagement")} note="Cumulative likes, dislikes, shares and comments on injected posts (after the warm-up, if there is one), divided by their number in each group.">
        <Chart name="engagement" label="Engagement per true and per false post over time" option={engaged} onPlace={(x) => change({ step: within(x, last) })} />
      </Section>
      <Section title="Moderation" csv={csv("moderation")} note="Circles: true posts; triangles: false; squares: unknown veracity. Area grows with the number of posts.">
        <Chart name="events" label="Moderation events by step" option={events} onPlace={(x) => change({ step: within(x, last) })} />
      </Section>
      <Section title="Participation" csv={csv("participation")} note={`Share of people online who took no action, and share of attempted actions that were refused. ${reasons ? `Refused actions, all steps together: ${reasons}.` : "No action was refused."}`}>
        <Chart name="participation" label="Share of people online without an action, and of refused actions, over time" option={taking} onPlace={(x) => change({ step: within(x, last) })} />
      </Section>
    </div>
  );
}

function within(x: number, last: number): number {
  return Math.min(Math.max(Math.round(x), 0), last);
}
