// Courses of several arms over one another, or less the baseline, with bands over seeds: 95% intervals.
import { useMemo, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import type { Answer, ArmCourse, Courses, OneCourse } from "../api";
import { axes, Chart, tooltip, unitAxis } from "../chart";
import { estimate, plain, tick } from "../format";
import { Answered, Choice, Section } from "../parts";
import { changeAll, useRoute, type Query } from "../route";
import { useColors, type Colors } from "../theme";

export type Show = "level" | "difference";

const DASHES = ["solid", "dashed", "dotted", [8, 3, 2, 3], [3, 6], [12, 4]];

export interface Style {
  color: string;
  dash: string | number[];
}

// The baseline in ink, the others in the colors of series, each with a dash of its own.
export function styleOf(nth: number, colors: Colors): Style {
  const dash = DASHES[nth % DASHES.length] ?? "solid";
  return { dash, color: nth === 0 ? colors.ink : (colors.series[(nth - 1) % colors.series.length] ?? colors.accent) };
}

export function OverlayView({ answer, query, single }: { answer: Answer<Courses>; query: Query; single: boolean }): JSX.Element {
  const route = useRoute();
  const show: Show = route.query.get("show") === "difference" ? "difference" : "level";
  const hidden = route.query.getAll("hide");
  return (
    <Answered of={answer}>
      {(data) => {
        if (!data.courses.length) return <p className="muted">No curve yet: no run is finished.</p>;
        return (
          <>
            <div className="controls">
              <Choice label="Show" name="show" value={show} of={[["level", single ? "runs over one another" : "arms over one another"], ["difference", single ? "difference from the first run" : "difference from the baseline"]]} />
              <Legend data={data} hidden={hidden} show={show} />
            </div>
            <div className="cards" data-testid="overlay">
              {data.courses.map((course) => (
                <CourseCard key={course.course} course={course} data={data} show={show} hidden={hidden} query={query} single={single} />
              ))}
            </div>
          </>
        );
      }}
    </Answered>
  );
}

function Legend({ data, hidden, show }: { data: Courses; hidden: string[]; show: Show }): JSX.Element {
  const colors = useColors();
  const toggle = (arm: string): void => changeAll("hide", hidden.includes(arm) ? hidden.filter((other) => other !== arm) : [...hidden, arm]);
  return (
    <div className="arms" role="group" aria-label="Arms that are drawn">
      {data.arms.map(({ arm, label }, nth) => {
        if (show === "difference" && arm === data.baseline) return <span key={arm} className="muted">minus {label}</span>;
        const style = styleOf(nth, colors);
        return (
          <button key={arm} type="button" className="arm-key" aria-pressed={!hidden.includes(arm)} onClick={() => toggle(arm)}>
            <LineKey style={style} /> {label}
          </button>
        );
      })}
    </div>
  );
}

export function LineKey({ style }: { style: Style }): JSX.Element {
  const dash = Array.isArray(style.dash) ? style.dash.join(" ") : { dashed: "6 4", dotted: "2 3" }[style.dash];
  return (
    <svg className="line-key" viewBox="0 0 26 8" aria-hidden="true">
      <line x1="0" x2="26" y1="4" y2="4" stroke={style.color} strokeWidth="2.5" strokeDasharray={dash} />
    </svg>
  );
}

interface CardProperties {
  course: OneCourse;
  data: Courses;
  show: Show;
  hidden: string[];
  query: Query;
  single: boolean;
}

function CourseCard({ course, data, show, hidden, query, single }: CardProperties): JSX.Element {
  const colors = useColors();
  const key = hidden.join("\n");
  const option = useMemo(() => courseOption(course, data, show, hidden, colors), [course, data, show, key, colors]);
  const seeds = Math.max(0, ...course[show].flatMap((arm) => arm.seeds));
  const band = single ? "" : seeds > 1 ? ` Bands: 95% CI over ${seeds} seeds.` : " One seed: no band.";
  const paired = show === "difference" && !single ? ", paired by seed" : "";
  const less = show === "difference" ? `, minus ${data.arms[0]?.label ?? ""}${paired}` : "";
  const over = course.over.startsWith("age") ? "age of the post" : "time";
  return (
    <Section title={course.title} csv={{ name: "courses", query: { ...query, course: course.course, show } }} note={`${capital(course.unit)}${less}, by ${over}.${band}`}>
      {since(course, data) && <p className="note" data-testid="since">{since(course, data)}</p>}
      {course[show].length ? <Chart name="overlay-course" label={`${course.title}: ${show === "level" ? "each arm" : "difference from the baseline"}`} option={option} height={270} /> : <p className="muted">Not comparable: no seed has both arms.</p>}
    </Section>
  );
}

// From when on an arm differs from the baseline: its interval excludes zero from there to the end of the course.
function since(course: OneCourse, data: Courses): string {
  const unit = unitOf(course.over);
  const baseline = data.arms.find((arm) => arm.arm === data.baseline)?.label ?? "the baseline";
  const sentences = course.difference.filter((arm) => arm.arm !== data.baseline && arm.low.some((low) => low !== null)).map((arm) => {
    const label = capital(data.arms.find((other) => other.arm === arm.arm)?.label ?? arm.arm);
    const clear = (row: number): boolean => (arm.low[row] ?? 0) > 0 || (arm.high[row] ?? 0) < 0;
    let first = arm.at.length;
    while (first > 0 && clear(first - 1)) first -= 1;
    const interval = `${label}: the 95% CI of the difference from ${baseline}`;
    if (first === arm.at.length) return `${interval} includes zero at the end.`;
    return `${interval} excludes zero from ${course.over.startsWith("age") ? "an age of " : ""}${length(arm.at[first]!, unit, course.over)} to the end.`;
  });
  return sentences.some((sentence) => sentence.includes(" excludes zero")) ? `${sentences.join(" ")} CIs are not corrected for looking at many times.` : "";
}

function length(at: number, unit: "days" | "hours" | null, over: string): string {
  if (unit === "days" && at < 2) return `${plain(at * 24, 0)} hours`;
  return unit ? `${plain(at, 1)} ${unit}` : over.startsWith("age") ? `${at} steps` : `step ${at}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function courseOption(course: OneCourse, data: Courses, show: Show, hidden: string[], colors: Colors): EChartsCoreOption {
  const order = new Map(data.arms.map(({ arm }, nth) => [arm, nth]));
  const shown = course[show].filter((arm) => !hidden.includes(arm.arm));
  const unit = unitOf(course.over);
  const last = Math.max(0, ...course.level.map((arm) => arm.at.at(-1) ?? 0));
  const label = new Map(data.arms.map((arm) => [arm.arm, arm.label]));
  const series = shown.flatMap((arm) => armSeries(arm, label.get(arm.arm) ?? arm.arm, styleOf(order.get(arm.arm) ?? 0, colors)));
  const zero = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: colors.muted, width: 1, type: "solid" }, data: [{ yAxis: 0 }] };
  if (show === "difference" && series[0]) series[0] = { ...series[0], markLine: zero };
  // No axis of shares goes on beyond 1 where no band does.
  const most = (course.unit === "share" || course.unit === "probability") && show === "level" ? { max: ({ max }: { max: number }) => (max > 0.9 && max <= 1 ? 1 : null) } : {};
  const y = { scale: show === "level", ...most, axisLabel: { color: colors.muted, formatter: tick } };
  return {
    ...axes(colors, unit ? unitAxis(colors, unit, last, 1) : { min: 0, max: Math.max(last, 1) }, y),
    tooltip: tooltip(colors, { trigger: "axis", formatter: (picked: unknown) => describe(picked, shown, label, course.over) }),
    series,
  };
}

function armSeries(arm: ArmCourse, name: string, style: Style): object[] {
  const line = {
    id: arm.arm,
    name,
    type: "line",
    data: arm.at.map((at, row) => [at, arm.value[row] ?? null]),
    showSymbol: arm.at.length < 2,
    lineStyle: { color: style.color, width: 2.2, type: style.dash },
    itemStyle: { color: style.color },
    z: 5,
  };
  return arm.low.some((value) => value !== null) ? [band(arm, style.color), line] : [line];
}

// The area between the ends of the intervals: a polygon for each stretch of rows that have one.
function band(arm: ArmCourse, color: string): object {
  const pieces: [number, number, number][][] = [[]];
  arm.at.forEach((at, row) => {
    const [low, high] = [arm.low[row] ?? null, arm.high[row] ?? null];
    if (low !== null && high !== null) pieces.at(-1)!.push([at, low, high]);
    else if (pieces.at(-1)!.length) pieces.push([]);
  });
  const corners = pieces.map((rows) => [...rows.map(([at, low]) => [at, low]), ...rows.toReversed().map(([at, , high]) => [at, high])]);
  const renderItem = ({ dataIndex }: { dataIndex: number }, { coord }: { coord: (at: unknown) => number[] }): object | null =>
    dataIndex > 0 ? null : { type: "group", children: corners.map((points) => ({ type: "polygon", shape: { points: points.map(coord) }, style: { fill: color, opacity: 0.13 } })) };
  // The data are for the extent of the axis: the first of them draws all.
  return { type: "custom", clip: true, silent: true, tooltip: { show: false }, encode: { x: 0, y: [1, 2] }, data: pieces.flat(), renderItem };
}

// Courses are in steps, or in hours or days where steps have a length.
function unitOf(over: string): "days" | "hours" | null {
  return over.includes("days") ? "days" : over.includes("hours") ? "hours" : null;
}

function describe(picked: unknown, shown: ArmCourse[], label: Map<string, string>, over: string): string {
  const first = Array.isArray(picked) ? (picked[0] as { value?: [number, number] }) : null;
  const at = first?.value?.[0];
  if (at === undefined) return "";
  const lines = shown.map((arm) => {
    const row = arm.at.indexOf(at);
    const [middle, ends] = estimate(arm.value[row] ?? null, arm.low[row] ?? null, arm.high[row] ?? null);
    return `${label.get(arm.arm) ?? arm.arm}: ${middle}${ends && ` (${ends})`}`;
  });
  const unit = unitOf(over);
  const [time, size] = [Number(at.toFixed(2)), unit ?? "steps"];
  const when = over.startsWith("age") ? `age ${time} ${size}` : unit ? `after ${time} ${size}` : `step ${time}`;
  return [when, ...lines].join("\n");
}
