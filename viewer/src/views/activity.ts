// Options of the charts of what happened: engagement, moderation, who took part.
import type { EChartsCoreOption } from "echarts/core";
import type { Activity } from "../api";
import { axes, markStep, timeAxis, tooltip } from "../chart";
import { moment, plain } from "../format";
import type { Colors } from "../theme";

type Point = [number, number | null];

export interface Time {
  step: number;
  last: number;
  hours: number | null | undefined;
}

export function engagementOption(activity: Activity, { step, last, hours }: Time, colors: Colors): EChartsCoreOption {
  const of = (veracity: string): Point[] =>
    activity.engagement.step.flatMap((value, row) =>
      activity.engagement.veracity[row] === veracity ? [[value, activity.engagement.per_post[row] ?? null] as Point] : [],
    );
  const line = (name: string, veracity: string, color: string, type: string): object => ({
    name,
    type: "line",
    data: of(veracity),
    showSymbol: false,
    lineStyle: { color, width: 2.5, type },
    itemStyle: { color },
    endLabel: { show: true, formatter: "{a}", color },
    ...(veracity === "true" ? { markLine: markStep(step, colors) } : {}),
  });
  return {
    ...axes(colors, timeAxis(colors, hours, last)),
    grid: { left: 8, right: 64, top: 12, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => plain(value, 1) }),
    series: [line("true", "true", colors.pro, "solid"), line("false", "false", colors.con, "dashed")],
  };
}

const ROWS = ["injected", "verdict true", "verdict false", "verdict unverified", "note shown", "note withdrawn", "taken down"];
const SHAPES: Record<string, string> = { true: "circle", false: "triangle", unknown: "rect" };

export function eventsOption(activity: Activity, { step, last, hours }: Time, colors: Colors): EChartsCoreOption {
  const { events } = activity;
  const known = ROWS.filter((row) => events.event.includes(row));
  const others = [...new Set(events.event)].filter((event) => !ROWS.includes(event));
  const rows = [...known, ...others].reverse();
  const most = Math.max(...events.posts, 1);
  const room = Math.min(Math.max(120 / Math.max(last, 1), 1), 8); // so that marks of neighboring steps stay apart
  const color: Record<string, string> = { true: colors.pro, false: colors.con, unknown: colors.muted };
  const series = ["true", "false", "unknown"].map((veracity, nth) => ({
    name: veracity === "unknown" ? "veracity unknown" : veracity,
    type: "scatter",
    symbol: SHAPES[veracity],
    symbolOffset: [0, (nth - 1) * 8],
    itemStyle: { color: color[veracity], opacity: 0.85 },
    data: events.step.flatMap((value, row) =>
      events.veracity[row] === veracity ? [[value, events.event[row], events.posts[row]]] : [],
    ),
    symbolSize: (value: [number, string, number]) => 4 + room * Math.sqrt(value[2] / most),
    ...(nth === 0 ? { markLine: markStep(step, colors) } : {}),
  }));
  const describe = (picked: { value: [number, string, number]; seriesName: string }): string =>
    `${moment(picked.value[0], hours, last)}, ${picked.value[1]}\n${picked.value[2]} posts (${picked.seriesName})`;
  return {
    ...axes(colors, timeAxis(colors, hours, last), { type: "category", data: rows, axisTick: { show: false }, splitLine: { show: true, lineStyle: { color: colors.line, opacity: 0.6 } } }),
    tooltip: tooltip(colors, { trigger: "item", formatter: describe }),
    series,
  };
}

export function participationOption(activity: Activity, { step, last, hours }: Time, colors: Colors): EChartsCoreOption {
  const { participation } = activity;
  const refused = participation.step.map((_, row) => {
    const tried = (participation.accepted[row] ?? 0) + (participation.refused[row] ?? 0);
    return tried ? (participation.refused[row] ?? 0) / tried : null;
  });
  const line = (name: string, values: (number | null)[], color: string, type: string): object => ({
    name,
    type: "line",
    data: participation.step.map((value, row) => [value, values[row] ?? null]),
    showSymbol: false,
    lineStyle: { color, width: 2, type },
    itemStyle: { color },
    endLabel: { show: true, formatter: "{a}", color },
  });
  return {
    ...axes(colors, timeAxis(colors, hours, last), { min: 0, max: 1, axisLabel: { formatter: (value: number) => `${value * 100}%`, color: colors.muted } }),
    grid: { left: 8, right: 72, top: 12, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    tooltip: tooltip(colors, { trigger: "axis", valueFormatter: (value: number) => `${plain(value * 100, 1)}%` }),
    series: [
      { ...line("no action", participation.silent_share, colors.ink, "solid"), markLine: markStep(step, colors) },
      line("refused", refused, colors.series[3] ?? colors.con, "dashed"),
    ],
  };
}
