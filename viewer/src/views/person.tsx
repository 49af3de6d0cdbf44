// The same person in every arm of a comparison: its stance over time, and side by side what moved it in two of them.
import { useEffect, useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer, type InArms, type InStep } from "../api";
import { axes, Chart, markStep, timeAxis, tooltip } from "../chart";
import { moment, signed, tick } from "../format";
import { Answered, Choice, PropositionChoice, Section, Stance, StepSlider, stepOf } from "../parts";
import { change, compared, link, type Route } from "../route";
import { useColors, type Colors } from "../theme";
import { Actions, Feed } from "./agent";
import { LineKey, styleOf } from "./overlay";
import { WaterfallView } from "./waterfall";

export function PersonInArms({ route, agent }: { route: Route; agent: number }): JSX.Element {
  const asked = { comparison: route.run, agent, seed: route.query.get("seed") };
  const answer = useAnswer<InArms>("/api/person", asked);
  useEffect(() => {
    document.title = `Agent ${agent} · ${route.run} · Townsquare`;
  }, [agent, route.run]);
  return <Answered of={answer}>{(data) => <Inside data={data} route={route} />}</Answered>;
}

function Inside({ data, route }: { data: InArms; route: Route }): JSX.Element {
  const colors = useColors();
  const { query } = route;
  const p = query.get("p") ?? "";
  const proposition = (data.propositions.find((known) => known.name === p) ?? data.propositions[0])?.name ?? "";
  const step = stepOf(query, data.last_step, Math.min(1, data.last_step));
  const names = data.arms.map((arm): [string, string] => [arm.run, arm.label]);
  const first = data.arms.find((arm) => arm.run === query.get("a")) ?? data.arms[0];
  const two = data.arms.find((arm) => arm.run === query.get("b")) ?? data.arms[1];
  const option = useMemo(() => stanceOption(data, proposition, step, colors), [data, proposition, step, colors]);
  return (
    <>
      <nav className="crumbs" aria-label="Place">
        <a href="#/runs">Runs</a> <span aria-hidden="true">/</span> <a href={compared(route.run)}>{route.run}</a>
      </nav>
      <div className="page-head">
        <h1>{data.arms[0]?.who}</h1>
        <span className="muted">the same person in {data.arms.length} arms, seed {data.seed}</span>
      </div>
      <div className="controls">
        <PropositionChoice of={data.propositions} value={proposition} />
        <Choice label="Seed" name="seed" value={String(data.seed)} of={data.seeds.map((seed): [string, string] => [String(seed), String(seed)])} />
        <StepSlider value={step} last={data.last_step} first={Math.min(1, data.last_step)} hours={data.hours} />
      </div>
      <div className="cards">
        <Section title="Stance over time, by arm" csv={{ name: "person", query: { comparison: route.run, agent: data.agent, seed: data.seed } }} note="Stance from −1 (against) to +1 (for). Click to choose a step." wide>
          <Chart name="person-course" label="Stance of this person over time, one line an arm" option={option} height={240} onPlace={(x) => change({ step: Math.min(Math.max(Math.round(x), 1), data.last_step) })} />
          <div className="scroll">
            <table data-testid="in-arms">
              <thead>
                <tr>
                  <th scope="col">arm</th>
                  <th scope="col" className="num">start</th>
                  <th scope="col" className="num">{moment(step, data.hours, data.last_step)}</th>
                  <th scope="col" className="num">end</th>
                  <th scope="col" className="num">change</th>
                </tr>
              </thead>
              <tbody>
                {data.arms.map((arm, nth) => {
                  const known = points(arm.course, proposition);
                  const [start, now, end] = [known[0]?.[1] ?? null, known.find(([at]) => at === step)?.[1] ?? null, known.at(-1)?.[1] ?? null];
                  return (
                    <tr key={arm.arm}>
                      <th scope="row">
                        <LineKey style={styleOf(nth, colors)} /> <a href={link(arm.run, "agent", data.agent, { p, step: query.get("step") })}>{arm.label}</a>
                      </th>
                      <td className="num"><Stance value={start} digits={3} /></td>
                      <td className="num"><Stance value={now} digits={3} /></td>
                      <td className="num"><Stance value={end} digits={3} /></td>
                      <td className="num">{signed(start === null || end === null ? null : end - start)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        </Section>
      </div>
      <div className="columns" data-testid="columns">
        {[first, two].map((arm, nth) => arm && (
          <section key={nth} className="card" aria-label={arm.label}>
            <Choice label={nth ? "beside" : "Arm"} name={nth ? "b" : "a"} value={arm.run} of={names} />
            <h3>What moved this belief in {moment(step, data.hours, data.last_step)}</h3>
            <WaterfallView run={arm.run} agent={data.agent} step={step} proposition={proposition} />
            <InOneStep run={arm.run} agent={data.agent} step={step} />
          </section>
        ))}
      </div>
    </>
  );
}

function InOneStep({ run, agent, step }: { run: string; agent: number; step: number }): JSX.Element {
  const shown = useAnswer<InStep>("/api/agent-step", { run, agent, step });
  return (
    <Answered of={shown}>
      {(data) => (
        <>
          <h3>Actions</h3>
          <Actions acts={data.actions} run={run} />
          <h3>Feed</h3>
          <Feed rows={data.exposures} run={run} />
        </>
      )}
    </Answered>
  );
}

function points(course: InArms["arms"][number]["course"], proposition: string): [number, number][] {
  return course.proposition.flatMap((name, row) => (name === proposition ? [[course.step[row] ?? 0, course.stance[row] ?? 0] as [number, number]] : []));
}

function stanceOption(data: InArms, proposition: string, step: number, colors: Colors): EChartsCoreOption {
  const series = data.arms.map((arm, nth) => {
    const style = styleOf(nth, colors);
    return {
      id: arm.arm,
      name: arm.label,
      type: "line",
      data: points(arm.course, proposition),
      showSymbol: false,
      lineStyle: { color: style.color, width: 2.2, type: style.dash },
      itemStyle: { color: style.color },
      ...(nth === 0 ? { markLine: markStep(step, colors) } : {}),
    };
  });
  const label = { color: colors.muted, formatter: tick };
  return {
    ...axes(colors, timeAxis(colors, data.hours, data.last_step), { scale: true, axisLabel: label }),
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => signed(value, 4) }),
    series,
  };
}
