// Options of the charts of stances, shared by the overview and by runs side by side.
import type { EChartsCoreOption } from "echarts/core";
import type { Beliefs, Lines } from "../api";
import { axes, markStep, timeAxis, tooltip } from "../chart";
import { moment, signed } from "../format";
import { stanceColor, type Colors } from "../theme";

type Point = [number, number];

export function rowsOf(beliefs: Beliefs, proposition: number): number[] {
  return beliefs.course.proposition.flatMap((value, row) => (value === proposition ? [row] : []));
}

interface Shown {
  bands: boolean;
  lines: Lines | null;
  step: number;
  hours: number | null | undefined;
}

export function trajectories(beliefs: Beliefs, proposition: number, colors: Colors, shown: Shown): EChartsCoreOption {
  const rows = rowsOf(beliefs, proposition);
  const at = (name: "q05" | "q25" | "q50" | "q75" | "q95" | "mean"): Point[] =>
    rows.map((row) => [beliefs.course.step[row] ?? 0, beliefs.course[name][row] ?? 0]);
  const series: object[] = [];
  if (shown.bands) {
    series.push(...band("wide", at("q05"), at("q95"), colors, 0.13), ...band("narrow", at("q25"), at("q75"), colors, 0.22));
  }
  if (shown.lines) series.push(...singles(shown.lines, proposition, colors));
  series.push({
    id: "mean",
    name: "mean",
    type: "line",
    data: at("mean"),
    showSymbol: false,
    lineStyle: { width: 2.5, color: colors.ink },
    itemStyle: { color: colors.ink },
    z: 5,
    markLine: markStep(shown.step, colors),
  });
  const last = beliefs.course.step[rows.at(-1) ?? 0] ?? 0;
  return {
    ...axes(colors, timeAxis(colors, shown.hours, last), { min: -1, max: 1, interval: 0.5, axisLabel: { formatter: side, color: colors.muted } }),
    tooltip: tooltip(colors, { trigger: "axis", formatter: (picked: unknown) => describe(picked, beliefs, rows, shown.hours) }),
    series,
  };
}

export function side(value: number): string {
  if (value === 1) return "for 1";
  if (value === -1) return "against \u22121";
  return String(value).replace("-", "\u2212");
}

function band(id: string, low: Point[], high: Point[], colors: Colors, opacity: number): object[] {
  const common = {
    type: "line",
    stack: id,
    stackStrategy: "all",
    showSymbol: false,
    silent: true,
    lineStyle: { opacity: 0 },
    tooltip: { show: false },
  };
  return [
    { ...common, id: `${id}-low`, data: low },
    {
      ...common,
      id: `${id}-high`,
      data: high.map(([x, y], row) => [x, y - (low[row]?.[1] ?? 0)]),
      areaStyle: { color: colors.accent, opacity },
    },
  ];
}

function singles({ lines }: Lines, proposition: number, colors: Colors): object[] {
  const courses = new Map<number, Point[]>();
  lines.proposition.forEach((value, row) => {
    if (value !== proposition) return;
    const agent = lines.agent[row] ?? 0;
    const course = courses.get(agent) ?? [];
    course.push([lines.step[row] ?? 0, lines.stance[row] ?? 0]);
    courses.set(agent, course);
  });
  return [...courses].map(([agent, data]) => ({
    id: `agent-${agent}`,
    name: `agent ${agent}`,
    type: "line",
    data,
    showSymbol: false,
    triggerLineEvent: true,
    lineStyle: { width: 1.2, opacity: 0.65, color: stanceColor(data.at(-1)?.[1] ?? 0, colors) },
    emphasis: { lineStyle: { width: 3, opacity: 1 } },
  }));
}

function describe(picked: unknown, beliefs: Beliefs, rows: number[], hours: number | null | undefined): string {
  const first = Array.isArray(picked) ? (picked[0] as { value?: Point }) : null;
  const step = first?.value?.[0];
  const row = rows.find((row) => beliefs.course.step[row] === step);
  if (row === undefined) return "";
  const { mean, q05, q25, q75, q95, agents } = beliefs.course;
  return [
    `${moment(step ?? 0, hours, beliefs.course.step[rows.at(-1) ?? 0] ?? 0)}: ${agents[row]} people`,
    `mean ${signed(mean[row] ?? null)}`,
    `middle 50% ${signed(q25[row])} to ${signed(q75[row])}`,
    `middle 90% ${signed(q05[row])} to ${signed(q95[row])}`,
  ].join("\n");
}

export function distribution(beliefs: Beliefs, proposition: number, step: number, colors: Colors): EChartsCoreOption {
  const n = beliefs.bins_per_step;
  const start = histogram(beliefs, proposition, 0);
  const now = histogram(beliefs, proposition, step);
  const most = nice(Math.max(...allBins(beliefs, proposition), 1));
  const center = (bin: number): number => -1 + (2 * bin + 1) / n;
  const points = (values: number[]): Point[] => values.map((value, bin) => [center(bin), value]);
  const ticks = { min: -1, max: 1, interval: 0.5, minInterval: 0.5, axisLabel: { formatter: side, color: colors.muted } };
  return {
    ...axes(colors, ticks, { max: most, axisLabel: { color: colors.muted } }),
    tooltip: tooltip(colors, { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (picked: unknown) => binText(picked, now, start) }),
    series: [
      {
        name: `step ${step}`,
        type: "bar",
        barWidth: "90%",
        data: points(now).map((value) => ({ value, itemStyle: { color: stanceColor(value[0], colors) } })),
      },
      {
        name: "start",
        type: "line",
        data: outline(start),
        clip: false, // its outer edges lie on those of the plot
        showSymbol: false,
        lineStyle: { color: colors.ink, width: 1.3, opacity: 0.75 },
        itemStyle: { color: colors.ink },
      },
    ],
  };
}

// Around all bins from edge to edge, closed at both ends of the scale.
function outline(values: number[]): Point[] {
  const edge = (bin: number): number => -1 + (2 * bin) / values.length;
  return [[-1, 0], ...values.flatMap((value, bin): Point[] => [[edge(bin), value], [edge(bin + 1), value]]), [1, 0]];
}

function binText(picked: unknown, now: number[], start: number[]): string {
  const bar = Array.isArray(picked) ? (picked as { seriesType: string; seriesName: string; dataIndex: number }[]).find((row) => row.seriesType === "bar") : undefined;
  if (!bar) return "";
  const [bin, n] = [bar.dataIndex, now.length];
  const counts = [`${bar.seriesName}: ${now[bin] ?? 0} people`, `start: ${start[bin] ?? 0} people`];
  return [`stance ${signed((2 * bin) / n - 1, 1)} to ${signed((2 * bin + 2) / n - 1, 1)}`, ...counts].join("\n");
}

// The next of 1, 2, 4, 5, 6, 8 times a power of ten, so that the axis ends at a round number.
function nice(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * ([1, 2, 4, 5, 6, 8, 10].find((times) => times * unit >= value) ?? 10);
}

function histogram(beliefs: Beliefs, proposition: number, step: number): number[] {
  const counts = Array.from({ length: beliefs.bins_per_step }, () => 0);
  beliefs.bins.step.forEach((value, row) => {
    if (value === step && beliefs.bins.proposition[row] === proposition) {
      counts[beliefs.bins.bin[row] ?? 0] = beliefs.bins.agents[row] ?? 0;
    }
  });
  return counts;
}

// The axis stays as it is while the slider moves.
function allBins(beliefs: Beliefs, proposition: number): number[] {
  return beliefs.bins.agents.filter((_, row) => beliefs.bins.proposition[row] === proposition);
}
