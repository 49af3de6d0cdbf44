// Runs side by side: the same charts on the same axes, and what differs.
import { useEffect, useMemo, useState, type JSX } from "react";
import { useAnswer, type Activity, type Beliefs, type Head } from "../api";
import { Chart } from "../chart";
import { count, percent, plain, signed, words } from "../format";
import { Answered, Csv, Problem, StepSlider, stepOf, State } from "../parts";
import { link, type Route } from "../route";
import { useColors } from "../theme";
import { engagementOption } from "./activity";
import { distribution, trajectories } from "./stances";

const MOST = 6;
const AGAIN = 2000;

export function Compare({ route }: { route: Route }): JSX.Element {
  const asked = route.query.getAll("run");
  const runs = asked.slice(0, MOST);
  useEffect(() => {
    document.title = "Compare · Townsquare";
  }, []);
  const data = useListed(runs);
  const listed = data ?? [];
  const longest = Math.max(0, ...listed.map((run) => run.step ?? 0));
  if (runs.length < 2) {
    return <Problem wrong={{ where: "side by side", got: `${runs.length} runs`, allowed: "two or more", do: "select them in the list of runs" }} />;
  }
  return (
    <>
      <div className="page-head">
        <h1>Compare</h1>
        <a href="#/runs">Runs</a>
        {asked.length > MOST && (
          <span className="muted">
            the first {MOST} of {asked.length}
          </span>
        )}
      </div>
      <div className="controls">
        <StepSlider value={stepOf(route.query, longest)} last={longest} />
      </div>
      <div className="columns" data-testid="columns">
        {data === null && <p className="loading">Reading the recorded run…</p>}
        {(data === null ? [] : runs).map((run) => (
          <Column key={run} run={run} route={route} fresh={freshOf(listed.find((known) => known.id === run))} />
        ))}
      </div>
    </>
  );
}

interface Listed {
  id: string;
  state: string;
  step?: number;
}

// How far each is, asked again while one of them goes on: a browser keeps too few connections open for one each.
function useListed(runs: string[]): Listed[] | null {
  const [tick, setTick] = useState(0);
  const listing = useAnswer<{ runs: Listed[] }>("/api/runs", {}, tick);
  const listed = listing.data?.runs.filter((run) => runs.includes(run.id)) ?? (listing.wrong ? [] : null);
  const running = listed?.some((run) => run.state === "running") ?? false;
  useEffect(() => {
    if (!running) return undefined;
    const timer = window.setInterval(() => setTick((old) => old + 1), AGAIN);
    return () => window.clearInterval(timer);
  }, [running]);
  return listed;
}

function freshOf(run: Listed | undefined): string {
  return run ? `${run.step ?? ""} ${run.state}` : "";
}

function Column({ run, route, fresh }: { run: string; route: Route; fresh: string }): JSX.Element {
  const head = useAnswer<Head>("/api/run", { run }, fresh);
  return (
    <section className="card" aria-label={run}>
      <Answered of={head}>{(data) => <Inside head={data} route={route} fresh={`${data.last_step} ${data.state}`} />}</Answered>
    </section>
  );
}

function Inside({ head, route, fresh }: { head: Head; route: Route; fresh: string }): JSX.Element {
  const beliefs = useAnswer<Beliefs>("/api/beliefs", { run: head.id }, fresh);
  const activity = useAnswer<Activity>("/api/activity", { run: head.id }, fresh);
  const step = stepOf(route.query, head.last_step);
  return (
    <>
      <h2>
        <a href={link(head.id, "overview")}>{head.id}</a>
      </h2>
      <p className="facts">
        {head.arm && <strong>{head.arm}</strong>} <span>step {head.last_step}</span> <span>{head.scenario}</span> <span>seed {head.seed}</span>{" "}
        <span>{count(head.agents)} agents</span> <span>{words(head.moderation ?? "")}</span> <State state={head.state} />
      </p>
      <Answered of={beliefs}>{(data) => <Stances head={head} beliefs={data} step={step} />}</Answered>
      <Answered of={activity}>{(data) => <Engaged run={head.id} activity={data} step={step} />}</Answered>
    </>
  );
}

function Stances({ head, beliefs, step }: { head: Head; beliefs: Beliefs; step: number }): JSX.Element {
  return (
    <>
      {head.propositions.map((known) => (
        <OneProposition key={known.name} run={head.id} beliefs={beliefs} proposition={known.proposition} name={words(known.name)} step={step} />
      ))}
    </>
  );
}

interface OneProperties {
  run: string;
  beliefs: Beliefs;
  proposition: number;
  name: string;
  step: number;
}

function OneProposition({ run, beliefs, proposition, name, step }: OneProperties): JSX.Element {
  const colors = useColors();
  const course = useMemo(() => trajectories(beliefs, proposition, colors, { bands: true, lines: false, step }), [beliefs, proposition, colors, step]);
  const bars = useMemo(() => distribution(beliefs, proposition, step, colors), [beliefs, proposition, colors, step]);
  const moved = beliefs.change[proposition];
  return (
    <>
      <div className="card-head">
        <h3>{name}</h3>
        <Csv name="course" query={{ run }} title={`Stance over time, ${name}, ${run}`} />
      </div>
      <p className="note">
        shift {signed(moved?.shift)} · size {plain(moved?.absolute_shift, 3)} · spread kept {percent(moved?.spread_kept)} · changed sides{" "}
        {percent(moved?.changed_side, 1)}
      </p>
      <Chart name="compare-course" label={`Stance over time: ${name}`} option={course} height={190} />
      <div className="card-head">
        <p className="note">agents by stance at step {step}</p>
        <Csv name="distribution" query={{ run }} title={`Agents by stance, ${name}, ${run}`} />
      </div>
      <Chart name="compare-distribution" label={`Agents by stance at step ${step}: ${name}`} option={bars} height={150} />
    </>
  );
}

function Engaged({ run, activity, step }: { run: string; activity: Activity; step: number }): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => engagementOption(activity, step, colors), [activity, step, colors]);
  return (
    <>
      <div className="card-head">
        <h3>Engagement per post</h3>
        <Csv name="engagement" query={{ run }} title={`Engagement, ${run}`} />
      </div>
      <Chart name="compare-engagement" label="Engagement per true and false post" option={option} height={170} />
    </>
  );
}
