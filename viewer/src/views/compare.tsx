// Runs side by side: the same charts on the same axes, and what differs.
import { useEffect, useMemo, type JSX } from "react";
import { State } from "../app";
import { useAnswer, type Activity, type Beliefs, type Head } from "../api";
import { Chart } from "../chart";
import { count, percent, plain, signed, words } from "../format";
import { Answered, Problem, StepSlider, stepOf } from "../parts";
import { link, type Route } from "../route";
import { useColors } from "../theme";
import { engagementOption } from "./activity";
import { distribution, trajectories } from "./stances";

const MOST = 6;

export function Compare({ route }: { route: Route }): JSX.Element {
  const runs = route.query.getAll("run").slice(0, MOST);
  useEffect(() => {
    document.title = "Side by side · Townsquare";
  }, []);
  const longest = useLongest(runs);
  if (runs.length < 2) {
    return <Problem wrong={{ where: "side by side", got: `${runs.length} runs`, allowed: "two or more", do: "tick them in the list of runs" }} />;
  }
  return (
    <>
      <div className="page-head">
        <h1>Side by side</h1>
        <a href="#/runs">Runs</a>
      </div>
      <div className="controls">
        <StepSlider value={stepOf(route.query, longest)} last={longest} />
      </div>
      <div className="columns" data-testid="columns">
        {runs.map((run) => (
          <Column key={run} run={run} route={route} />
        ))}
      </div>
    </>
  );
}

interface Listed {
  runs: { id: string; step?: number }[];
}

function useLongest(runs: string[]): number {
  const listing = useAnswer<Listed>("/api/runs", {});
  const steps = listing.data?.runs.filter((run) => runs.includes(run.id)).map((run) => run.step ?? 0) ?? [];
  return Math.max(0, ...steps);
}

function Column({ run, route }: { run: string; route: Route }): JSX.Element {
  const head = useAnswer<Head>("/api/run", { run });
  return (
    <section className="card" aria-label={run}>
      <Answered of={head}>{(found) => <Inside head={found} route={route} />}</Answered>
    </section>
  );
}

function Inside({ head, route }: { head: Head; route: Route }): JSX.Element {
  const beliefs = useAnswer<Beliefs>("/api/beliefs", { run: head.id });
  const activity = useAnswer<Activity>("/api/activity", { run: head.id });
  const step = stepOf(route.query, head.last_step);
  return (
    <>
      <h2>
        <a href={link(head.id, "overview")}>{head.id}</a>
      </h2>
      <p className="facts">
        {head.arm && <strong>{head.arm}</strong>} <span>{head.scenario}</span> <span>seed {head.seed}</span>{" "}
        <span>{count(head.agents)} agents</span> <span>{words(head.moderation ?? "")}</span> <State state={head.state} />
      </p>
      <Answered of={beliefs}>{(found) => <Stances head={head} beliefs={found} step={step} />}</Answered>
      <Answered of={activity}>{(found) => <Engaged activity={found} step={step} />}</Answered>
    </>
  );
}

function Stances({ head, beliefs, step }: { head: Head; beliefs: Beliefs; step: number }): JSX.Element {
  return (
    <>
      {head.propositions.map((one) => (
        <OneProposition key={one.name} beliefs={beliefs} proposition={one.proposition} name={words(one.name)} step={step} />
      ))}
    </>
  );
}

interface OneProperties {
  beliefs: Beliefs;
  proposition: number;
  name: string;
  step: number;
}

function OneProposition({ beliefs, proposition, name, step }: OneProperties): JSX.Element {
  const colors = useColors();
  const course = useMemo(() => trajectories(beliefs, proposition, colors, { bands: true, lines: false, step }), [beliefs, proposition, colors, step]);
  const bars = useMemo(() => distribution(beliefs, proposition, step, colors), [beliefs, proposition, colors, step]);
  const moved = beliefs.change[proposition];
  return (
    <>
      <h3>{name}</h3>
      <p className="note">
        shift {signed(moved?.shift)} · size {plain(moved?.absolute_shift, 3)} · spread kept {percent(moved?.spread_kept)} · changed sides{" "}
        {percent(moved?.changed_side, 1)}
      </p>
      <Chart name="compare-course" label={`Stance over time: ${name}`} option={course} height={190} />
      <Chart name="compare-distribution" label={`Agents by stance at step ${step}: ${name}`} option={bars} height={150} />
    </>
  );
}

function Engaged({ activity, step }: { activity: Activity; step: number }): JSX.Element {
  const colors = useColors();
  const option = useMemo(() => engagementOption(activity, step, colors), [activity, step, colors]);
  return (
    <>
      <h3>Engagement per post</h3>
      <Chart name="compare-engagement" label="Engagement per true and false post" option={option} height={170} />
    </>
  );
}
