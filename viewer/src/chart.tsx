// One chart: an ECharts canvas that follows its box. Tooltips are drawn, never HTML, so no text can become markup.
import { useEffect, useRef, type JSX } from "react";
import { BarChart, CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { init, use, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import type { EChartsCoreOption } from "echarts/core";
import { inDays, roundTimes } from "./format";
import { type Colors } from "./theme";

use([BarChart, CustomChart, LineChart, ScatterChart, GridComponent, MarkLineComponent, TooltipComponent, CanvasRenderer]);

export interface Picked {
  series: string;
  name: string;
  index: number;
}

interface Properties {
  name: string;
  label: string;
  option: EChartsCoreOption;
  height?: number;
  onPick?: (picked: Picked) => void;
  onPlace?: (x: number) => void;
}

export function Chart({ name, label, option, height = 260, onPick, onPlace }: Properties): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const listeners = useRef({ onPick, onPlace });
  listeners.current = { onPick, onPlace };

  useEffect(() => () => chart.current?.dispose(), []);

  useEffect(() => {
    const at = box.current;
    if (!at) return undefined;
    const draw = (): void => {
      chart.current ??= made(at, listeners);
      chart.current.setOption({ animation: false, ...option }, { notMerge: true });
      at.dataset["ready"] = "1";
    };
    if (at.getBoundingClientRect().top < window.innerHeight) {
      draw();
      return undefined;
    }
    const later = window.setTimeout(draw); // below the screen: after what is seen, each in a task of its own
    return () => window.clearTimeout(later);
  }, [option]);

  useEffect(() => {
    // The observer also calls when it starts, with the size that the chart has.
    const watch = new ResizeObserver(() => chart.current?.getWidth() !== box.current?.clientWidth && chart.current?.resize());
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);

  return <div ref={box} role="img" aria-label={label} data-testid={name} className="chart" style={{ height }} />;
}

type Listeners = { current: { [Name in "onPick" | "onPlace"]: Properties[Name] | undefined } };

function made(box: HTMLElement, listeners: Listeners): EChartsType {
  const chart = init(box);
  chart.on("click", (event) => {
    const picked = { series: String(event.seriesId ?? ""), name: String(event.name), index: event.dataIndex ?? 0 };
    listeners.current.onPick?.(picked);
  });
  chart.getZr().on("click", (event: { offsetX: number; offsetY: number }) => {
    const at = chart.convertFromPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY]) as unknown;
    const x = Array.isArray(at) ? (at[0] as number) : Number.NaN;
    if (Number.isFinite(x)) listeners.current.onPlace?.(x);
  });
  return chart;
}

export function axes(colors: Colors, x: object = {}, y: object = {}): EChartsCoreOption {
  const text = { color: colors.muted, fontSize: 12 };
  const common = {
    axisLabel: text,
    nameTextStyle: text,
    axisLine: { lineStyle: { color: colors.line } },
    axisTick: { lineStyle: { color: colors.line } },
    splitLine: { lineStyle: { color: colors.line, opacity: 0.6 } },
  };
  return {
    textStyle: { fontFamily: "system-ui, sans-serif", color: colors.ink },
    grid: { left: 8, right: 16, top: 12, bottom: 8, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
    xAxis: { type: "value", minInterval: 1, ...common, splitLine: { show: false }, ...x },
    yAxis: { type: "value", ...common, ...y },
  };
}

export function tooltip(colors: Colors, more: object = {}): object {
  return {
    renderMode: "richText",
    confine: true,
    backgroundColor: colors.paper,
    borderColor: colors.line,
    textStyle: { color: colors.ink, fontSize: 12 },
    ...more,
  };
}

export function markStep(step: number, colors: Colors): object {
  return {
    silent: true,
    symbol: "none",
    animation: false,
    lineStyle: { color: colors.ink, width: 1.5, type: "solid", opacity: 0.7 },
    label: { show: false },
    data: [{ xAxis: step }],
  };
}

// An axis of steps that is labeled in hours or days where steps have a length.
export function timeAxis(colors: Colors, hours: number | null | undefined, last: number): object {
  if (!hours || last < 1) return { min: 0, max: Math.max(last, 1) };
  const days = inDays(hours, last);
  return unitAxis(colors, days ? "days" : "hours", last, (days ? 24 : 1) / hours);
}

// An axis to `last`, on which `each` is one hour or day; labels stand at round numbers of them.
export function unitAxis(colors: Colors, unit: "days" | "hours", last: number, each: number): object {
  const apart = each * roundTimes(last / each);
  const label = (at: number): string => (unit === "days" ? `day ${Math.round(at / each)}` : `${Math.round(at / each)} h`);
  const whole = Math.abs(last / apart - Math.round(last / apart)) < 1e-9;
  return { min: 0, max: last, interval: apart, minInterval: 0, axisLabel: { color: colors.muted, fontSize: 12, formatter: label, showMaxLabel: whole, hideOverlap: true, alignMinLabel: "left" } };
}
