// Community notes in the plane of intercept and factor, raters by side, and why a note is shown or not.
import { useEffect, useMemo, useState, type JSX } from "react";
import type { EChartsCoreOption } from "echarts/core";
import { useAnswer } from "../api";
import { axes, Chart, tooltip } from "../chart";
import { count, moment, percent, plain, plural, signed, tick, words } from "../format";
import { Answered, Choice, Problem, PropositionChoice, Section, StepSlider, stepOf, Tag, Truth, type ViewProperties } from "../parts";
import { change, link } from "../route";
import { stanceColor, useColors, type Colors } from "../theme";

interface Thresholds {
  shown_intercept: number;
  largest_factor: number;
  not_helpful_intercept: number;
  not_helpful_factor: number;
}

interface NoteText {
  note: number;
  root: number;
  step: number;
  author: number;
  who: string;
  content: string;
  post: string | null;
  veracity: string | null;
  published: number | null; // step of the post
  shown: number | null; // first step in which the note was
  late: number | null; // share of the views of the post until then
  views: number | null; // of the post, in the whole run
}

interface AllNotes {
  scorer: string;
  strategy: string;
  thresholds: Thresholds | null;
  few: number;
  extent: { factor: number | null; low: number | null; high: number | null };
  notes: NoteText[];
}

type Status = "shown" | "pending" | "not_helpful";

interface At {
  notes: { note: number[]; helpful: number[]; somewhat: number[]; not_helpful: number[]; decided: (number | null)[]; status: Status[]; intercept: (number | null)[]; factor: (number | null)[] };
  raters: { agent: number[]; factor: (number | null)[]; passed: boolean[]; stance: (number | null)[] };
}

interface Condition {
  what: string;
  value: number;
  rule: string;
  limit: number;
  about: string;
  holds: boolean;
}

interface Why {
  course: { step: number[]; status: Status[]; intercept: (number | null)[]; factor: (number | null)[] };
  history: { step: number; what: string; reason: string }[];
  rounds: { first: number | null; provisional: Status; intercept: number | null; factor: number | null; bound: number | null; status: Status; not_helpful: number; not_helpful_bound: number } | null;
  conditions?: Condition[];
  sides?: { side: string; helpful: number; somewhat: number; not_helpful: number }[];
}

const LISTED = 100;
const EVERY: Status[] = ["shown", "pending", "not_helpful"];
const STATUS: Record<Status, string> = { shown: "shown", pending: "needs more ratings", not_helpful: "not helpful" };
const SYMBOL: Record<string, string> = { true: "circle", false: "triangle" };

export function Notes({ head, route, fresh }: ViewProperties): JSX.Element {
  const step = stepOf(route.query, head.last_step);
  const p = route.query.get("p") ?? "";
  const text = route.query.get("note") ?? "";
  const chosen = /^\d{1,9}$/.test(text) ? Number(text) : null;
  const only = route.query.get("status") ?? "";
  const all = useAnswer<AllNotes>("/api/notes", { run: head.id }, fresh);
  const at = useAnswer<At>("/api/notes-at", { run: head.id, proposition: p, step }, fresh);
  const why = useAnswer<Why>(chosen === null ? "" : "/api/note", { run: head.id, note: chosen, step }, fresh);
  const colors = useColors();
  const course = chosen === null ? null : why.data;
  const drawn = useMemo(() => (all.data?.thresholds && at.data ? plane(all.data, all.data.thresholds, at.data, chosen, course, step, colors) : null), [all.data, at.data, chosen, course, step, colors]);
  const sides = useMemo(() => (all.data && at.data ? sidesOf(all.data, at.data, colors) : null), [all.data, at.data, colors]);
  useEffect(() => {
    document.title = `Notes · ${head.id} · Townsquare`;
  }, [head.id]);
  const now = moment(step, head.hours, head.last_step);
  const query = { run: head.id, proposition: p, step };
  const pick = (series: string, index: number): void => {
    const status = EVERY.find((known) => series.startsWith(`${known} `));
    if (status && at.data && all.data) change({ note: rowsOf(all.data, at.data, status, series.slice(status.length + 1))[index]?.note ?? null });
  };
  return (
    <Answered of={all}>
      {(known) => {
        if (!known.notes.length) return <p data-testid="no-notes">This run has no community notes. Its moderation is: {words(known.strategy)}. Notes come with the strategies community and hybrid, or with the response “note” of a desk.</p>;
        return (
          <>
            <div className="controls">
              <PropositionChoice of={head.propositions} value={p} />
              <StepSlider value={step} last={head.last_step} hours={head.hours} />
            </div>
            {at.wrong && <Problem wrong={at.wrong} />}
            {!known.thresholds && (
              <p className="warn" data-testid="no-plane">
                This run does not use the bridging scorer. {known.scorer ? `Its note scorer, ${words(known.scorer)},` : "Its record"} gives no intercepts and no factors, so notes cannot be drawn by intercept and factor, and raters have no sides. The list below has ratings and statuses.
              </p>
            )}
            {!at.data && !at.wrong && <p className="loading">Scoring the ratings…</p>}
            {drawn && sides && (
              <div className="cards">
                <Section title={`Notes at ${now}`} csv={{ name: "plane", query }} note="Up: raters of both sides find the note more helpful (intercept). Left and right: the side that finds it more helpful (factor). Circles: notes on true posts; triangles: on false; squares: of unknown veracity. Click a note.">
                  <Chart name="plane" label={`Notes by intercept and factor at ${now}; the table below names the same notes`} option={drawn} height={400} onPick={({ series, index }) => pick(series, index)} />
                  <p className="legend">
                    {EVERY.map((status) => (
                      <span key={status} className="stance">
                        <i style={{ background: shade(status, colors) }} aria-hidden="true" />
                        {STATUS[status]}: {count(at.data?.notes.status.filter((each) => each === status).length)}
                      </span>
                    ))}
                    <span className="muted">above the solid line, a note is shown if it meets the other conditions; below the dashed line, it is not helpful; thin line: path of the chosen note</span>
                  </p>
                </Section>
                <Section title={`Raters at ${now}`} csv={{ name: "raters", query }} note="Number of raters by their factor, on the axis of the notes. Color: mean stance of these raters on the proposition above.">
                  <Chart name="raters" label={`Number of raters by factor at ${now}`} option={sides.option} height={330} />
                  <p className={sides.small !== null && sides.small < known.few ? "warn" : "note"} data-testid="sides">
                    {sides.says}
                    {sides.small !== null && sides.small < known.few && ` Below ${percent(known.few)}, there are no two sides to bridge, and statuses mean little.`}
                  </p>
                </Section>
              </div>
            )}
            {chosen !== null && at.data && <Answered of={why}>{(data) => <Reasons run={head.id} all={known} at={at.data as At} why={data} note={chosen} step={step} now={now} hours={head.hours} last={head.last_step} />}</Answered>}
            {at.data && <List run={head.id} all={known} at={at.data} only={only} latest={route.query.get("order") === "late"} chosen={chosen} now={now} step={step} hours={head.hours} query={query} />}
          </>
        );
      }}
    </Answered>
  );
}

function shade(status: Status, colors: Colors): string {
  return status === "shown" ? colors.accent : status === "pending" ? colors.muted : colors.con;
}

function kindOf(veracity: string | null): string {
  return veracity === "true" || veracity === "false" ? veracity : "unknown";
}

// Notes of one status, on posts of one veracity, that have numbers.
function rowsOf(all: AllNotes, at: At, status: Status, veracity: string): { note: number; point: [number, number] }[] {
  return at.notes.note.flatMap((note, row) => {
    const [x, y] = [at.notes.factor[row] ?? null, at.notes.intercept[row] ?? null];
    const fits = at.notes.status[row] === status && kindOf(all.notes[note]?.veracity ?? null) === veracity;
    return fits && x !== null && y !== null ? [{ note, point: [x, y] as [number, number] }] : [];
  });
}

function span(all: AllNotes): number {
  return Math.ceil(10 * Math.max(0.6, all.extent.factor ?? 0)) / 10;
}

function plane(all: AllNotes, lines: Thresholds, at: At, chosen: number | null, why: Why | null, step: number, colors: Colors): EChartsCoreOption {
  const wide = span(all);
  const high = Math.ceil(10 * Math.max(0.7, all.extent.high ?? 0)) / 10;
  const low = Math.floor(10 * Math.min(-0.4, all.extent.low ?? 0)) / 10;
  const line = (id: string, data: [number, number][], style: object): object => ({ id, type: "line", data, silent: true, showSymbol: false, lineStyle: style, tooltip: { show: false }, z: 1 });
  const edge = lines.largest_factor;
  const limit = (x: number): [number, number] => [x, lines.not_helpful_intercept - lines.not_helpful_factor * Math.abs(x)];
  const path = why ? why.course.step.flatMap((when, row): [number, number][] => {
    const [x, y] = [why.course.factor[row] ?? null, why.course.intercept[row] ?? null];
    return when <= step && x !== null && y !== null ? [[x, y]] : [];
  }) : [];
  const points = EVERY.flatMap((status) =>
    ["true", "false", "unknown"].map((veracity) => {
      const rows = rowsOf(all, at, status, veracity);
      const data = rows.map(({ note, point }) => ({ value: point, name: String(note), symbolSize: note === chosen ? 17 : 9, itemStyle: note === chosen ? { borderColor: colors.ink, borderWidth: 2.5, opacity: 1 } : {} }));
      return { id: `${status} ${veracity}`, type: "scatter", symbol: SYMBOL[veracity] ?? "rect", data, itemStyle: { color: shade(status, colors), opacity: 0.75 }, z: status === "shown" ? 4 : 3 };
    }),
  );
  const named = (name: string): object => ({ name, nameLocation: "middle", nameGap: 26 });
  return {
    ...axes(colors, { min: -wide, max: wide, minInterval: 0, axisLabel: { color: colors.muted, formatter: tick }, ...named("factor") }, { min: low, max: high, axisLabel: { color: colors.muted, formatter: tick }, ...named("intercept"), nameGap: 38 }),
    grid: { left: 54, right: 16, top: 12, bottom: 44 },
    tooltip: tooltip(colors, { trigger: "item", formatter: (item: unknown) => hint(all, at, Number((item as { name?: string }).name)) }),
    series: [
      line("shown above", [[-edge, high], [-edge, lines.shown_intercept], [edge, lines.shown_intercept], [edge, high]], { color: colors.accent, width: 1.6 }),
      line("not helpful below", [limit(-wide), limit(0), limit(wide)], { color: colors.con, width: 1.6, type: "dashed" }),
      line("path", path, { color: colors.ink, width: 1, opacity: 0.6 }),
      ...points,
    ],
  };
}

function hint(all: AllNotes, at: At, note: number): string {
  const row = at.notes.note.indexOf(note);
  if (row < 0) return "";
  return [`note ${note}: ${STATUS[at.notes.status[row] ?? "pending"]}`, `intercept ${signed(at.notes.intercept[row], 2)}, factor ${signed(at.notes.factor[row], 2)}`, start(all.notes[note]?.content, 70)].join("\n");
}

const BINS = 24;

function sidesOf(all: AllNotes, at: At, colors: Colors): { option: EChartsCoreOption; says: string; small: number | null } {
  const wide = Math.max(span(all), ...at.raters.factor.map((factor) => Math.ceil(10 * Math.abs(factor ?? 0)) / 10));
  const bins = Array.from({ length: BINS }, () => ({ many: 0, sum: 0, known: 0 }));
  let [left, right] = [0, 0];
  at.raters.factor.forEach((factor, row) => {
    if (factor === null) return;
    if (factor < 0) left++;
    else right++;
    const bin = bins[Math.min(BINS - 1, Math.floor(((factor + wide) / (2 * wide)) * BINS))];
    const stance = at.raters.stance[row] ?? null;
    if (!bin) return;
    bin.many++;
    if (stance !== null) {
      bin.sum += stance;
      bin.known++;
    }
  });
  const center = (nth: number): number => -wide + ((2 * nth + 1) * wide) / BINS;
  const data = bins.map(({ many, sum, known }, nth) => ({ value: [center(nth), many], itemStyle: { color: known ? stanceColor(sum / known, colors) : colors.middle } }));
  const mark = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: colors.ink, width: 1, type: "solid" }, data: [{ xAxis: 0 }] };
  const text = (item: unknown): string => {
    const bin = bins[(item as { dataIndex?: number }).dataIndex ?? 0];
    return bin ? `${count(bin.many)} raters\nmean stance ${signed(bin.known ? bin.sum / bin.known : null, 2)}` : "";
  };
  const counted = left + right;
  const small = counted ? Math.min(left, right) / counted : null;
  return {
    small,
    says: counted ? `${count(counted)} of ${count(at.raters.agent.length)} raters count: they rate enough, and agree enough with the statuses that the first fit gave to notes. ${count(left)} are on the left and ${count(right)} on the right; the smaller side has ${percent(small)}.` : "Too few ratings so far: no rater has a factor.",
    option: {
      ...axes(colors, { min: -wide, max: wide, minInterval: 0, axisLabel: { color: colors.muted, formatter: tick }, name: "factor", nameLocation: "middle", nameGap: 26 }, { minInterval: 1, axisLabel: { color: colors.muted }, name: "raters", nameLocation: "middle", nameGap: 38 }),
      grid: { left: 54, right: 16, top: 12, bottom: 44 },
      tooltip: tooltip(colors, { trigger: "item", formatter: text }),
      series: [{ type: "bar", barWidth: "92%", data, markLine: mark }],
    },
  };
}

interface ReasonProperties {
  run: string;
  all: AllNotes;
  at: At;
  why: Why;
  note: number;
  step: number;
  now: string;
  hours: number | null | undefined;
  last: number;
}

function Reasons({ run, all, at, why, note, step, now, hours, last }: ReasonProperties): JSX.Element {
  const row = at.notes.note.indexOf(note);
  const status = at.notes.status[row] ?? "pending";
  const text = all.notes[note];
  const { rounds } = why;
  const history = why.history.filter((row) => row.step <= step);
  return (
    <Section wide title={`Why note ${note} is ${status === "shown" ? "shown" : "not shown"} at ${now}`}>
      <div data-testid="why-note">
        <p className="sum">{because(all, at, row, why, status, hours, last)}</p>
        <p className="quote">{text?.content || "(no text)"}</p>
        <p className="facts">
          {text && text.author >= 0 && <a href={link(run, "agent", text.author)}>{text.who}</a>}
          <span>written in step {text?.step}</span>
          <span>
            on <a href={link(run, "post", text?.root ?? 0)}>“{start(text?.post, 90)}”</a>
          </span>
          <Truth veracity={text?.veracity ?? "unknown"} />
          <button type="button" onClick={() => change({ note: null })}>
            Close
          </button>
        </p>
        <div className="reasons">
          {why.conditions && (
            <div>
              <h3>Conditions of a note that is shown</h3>
              <table>
                <tbody>
                  {why.conditions.map((row) => (
                    <tr key={row.what}>
                      <th scope="row" className="wrap">
                        {row.what} {row.about && <span className="muted">({row.about})</span>}
                      </th>
                      <td className="num">{amount(row.value)}</td>
                      <td className="num">
                        {row.rule} {amount(row.limit)}
                      </td>
                      <td>
                        <Tag kind={row.holds ? "true" : "false"}>{row.holds ? "✓ yes" : "✗ no"}</Tag>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {why.sides && (
            <div>
              <h3>Ratings by side</h3>
              <table data-testid="note-sides">
                <thead>
                  <tr>
                    <th scope="col">raters</th>
                    <th scope="col" className="num">helpful</th>
                    <th scope="col" className="num">somewhat</th>
                    <th scope="col" className="num">not helpful</th>
                  </tr>
                </thead>
                <tbody>
                  {why.sides.map((side) => (
                    <tr key={side.side}>
                      <th scope="row">{side.side}</th>
                      <td className="num">{count(side.helpful)}</td>
                      <td className="num">{count(side.somewhat)}</td>
                      <td className="num">{count(side.not_helpful)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {rounds && (
            <div>
              <h3>Fits</h3>
              <ol className="list">
                <li>First fit, all raters: intercept {signed(rounds.first, 2)}; {STATUS[rounds.provisional]} for now.</li>
                <li>Second fit, raters who agree with such statuses often enough: intercept {signed(rounds.intercept, 2)}, factor {signed(rounds.factor, 2)}.</li>
                <li>Upper bound of the intercept: {signed(rounds.bound, 2)} (not helpful below {signed(rounds.not_helpful_bound, 2)}).</li>
              </ol>
            </div>
          )}
          <div>
            <h3>History</h3>
            {history.length === 0 && <p className="muted">No change of status.</p>}
            <ul className="list scrolled" data-testid="note-history">
              {history.map((row) => (
                <li key={`${row.step} ${row.what}`}>
                  {moment(row.step, hours, last)}: {row.what === "pending" ? STATUS.pending : words(row.what)} <span className="muted">{row.reason}</span>
                </li>
              ))}
            </ul>
          </div>
        </div>
        {rounds && <p className="note">Ratings by side, fits and conditions are not recorded: the ratings up to this step were scored again. Statuses and the numbers in the picture are those of the record.</p>}
      </div>
    </Section>
  );
}

function amount(value: number): string {
  return Number.isInteger(value) ? plain(value, 0) : plain(value, 2);
}

function start(text: string | null | undefined, letters: number): string {
  return text && text.length > letters ? `${text.slice(0, letters).trimEnd()}…` : (text ?? "");
}

function because(all: AllNotes, at: At, row: number, why: Why, status: Status, hours: number | null | undefined, last: number): string {
  const { helpful, somewhat, not_helpful: not, decided } = at.notes;
  const given = `${count(helpful[row])} helpful, ${count(somewhat[row])} somewhat, ${count(not[row])} not helpful`;
  const { rounds, conditions = [] } = why;
  if (!rounds) return `${STATUS[status]}. Ratings: ${given}.${all.thresholds ? " Too few ratings so far for the scorer to give numbers." : ""}`;
  const since = status === "shown" && decided[row] !== null && decided[row] !== undefined ? ` since ${moment(decided[row], hours, last)}` : "";
  const differs = rounds.status === status ? "" : ` Scored again from the start, it would be: ${STATUS[rounds.status]}; the run goes on from the scores of the step before.`;
  if (status === "shown") return `Shown${since}: raters of both sides find it helpful, and all conditions hold. Ratings: ${given}.${differs}`;
  if (status === "pending") {
    const missed = conditions.filter((row) => !row.holds).map((row) => `${row.what} ${amount(row.value)}, needs ${row.rule} ${amount(row.limit)}`);
    return `Needs more ratings: ${missed.join("; ") || "all conditions hold now"}. Ratings: ${given}.${differs}`;
  }
  const low = (rounds.intercept ?? 0) <= rounds.not_helpful;
  const bound = (rounds.bound ?? 0) < rounds.not_helpful_bound;
  const reason = low ? `its intercept ${signed(rounds.intercept, 2)} is at or below the dashed line, ${signed(rounds.not_helpful, 2)} at its factor` : bound ? `even the upper bound of its intercept, ${signed(rounds.bound, 2)}, is below ${signed(rounds.not_helpful_bound, 2)}` : "raters of both sides rate it low";
  return `Not helpful: ${rounds.status === status ? reason : "as the run scored it"}. Ratings: ${given}.${differs}`;
}

interface ListProperties {
  run: string;
  all: AllNotes;
  at: At;
  only: string;
  latest: boolean;
  chosen: number | null;
  now: string;
  step: number;
  hours: number | null | undefined;
  query: Record<string, string | number>;
}

function List({ run, all, at, only, latest, chosen, now, step, hours, query }: ListProperties): JSX.Element {
  const { note, status, intercept, factor, helpful, somewhat, not_helpful: not } = at.notes;
  const rows = note.map((_, row) => row).filter((row) => !only || status[row] === only);
  const waited = (row: number): number => {
    const text = all.notes[note[row] ?? 0];
    return text && text.shown !== null && text.shown <= step ? text.shown - (text.published ?? 0) : -1;
  };
  const delay = ({ shown, published }: NoteText): string => (hours ? `${plain((shown! - published!) * hours, 0)} h` : plural(shown! - published!, "step"));
  rows.sort((a, b) => (latest ? waited(b) - waited(a) : 0) || EVERY.indexOf(status[a] ?? "pending") - EVERY.indexOf(status[b] ?? "pending") || (intercept[b] ?? -9) - (intercept[a] ?? -9));
  const numbers = all.thresholds !== null;
  const [listed, setListed] = useState(LISTED);
  return (
    <Section wide title={`All notes at ${now}`} {...(numbers ? {} : { csv: { name: "plane", query } })} note={`${count(rows.length)} notes. First shown after: from the post to the first showing of the note. Views before: share of all views of the post in the run that came until then.`}>
      <div className="toggles">
        <Choice label="Status" name="status" value={only} of={[["", "all"], ...EVERY.map((known): [string, string] => [known, STATUS[known]])]} />
        <Choice label="Order" name="order" value={latest ? "late" : ""} of={[["", "by intercept"], ["late", "longest wait first"]]} />
      </div>
      <div className="scroll tall">
        <table data-testid="note-list" className="notes-table">
          <thead>
            <tr>
              <th scope="col">note</th>
              <th scope="col">status</th>
              {numbers && <th scope="col" className="num">intercept</th>}
              {numbers && <th scope="col" className="num">factor</th>}
              <th scope="col" className="num">helpful / somewhat / not</th>
              <th scope="col" className="num">first shown after</th>
              <th scope="col" className="num">views before</th>
              <th scope="col">on the post</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, listed).map((row) => {
              const text = all.notes[note[row] ?? 0];
              return (
                <tr key={note[row]} className={note[row] === chosen ? "chosen" : ""}>
                  <th scope="row" className="wrap">
                    <button type="button" className="link" onClick={() => change({ note: note[row] ?? null })}>
                      {note[row]}: {start(text?.content, 80)}
                    </button>
                  </th>
                  <td>
                    <Tag kind={status[row] === "shown" ? "label" : "plain"}>{STATUS[status[row] ?? "pending"]}</Tag>
                    {status[row] !== "shown" && waited(row) >= 0 && <small className="muted"> (withdrawn)</small>}
                  </td>
                  {numbers && <td className="num">{signed(intercept[row], 2)}</td>}
                  {numbers && <td className="num">{signed(factor[row], 2)}</td>}
                  <td className="num">
                    {plain(helpful[row], 0)} / {plain(somewhat[row], 0)} / {plain(not[row], 0)}
                  </td>
                  <td className="num">{text && waited(row) >= 0 ? delay(text) : "–"}</td>
                  <td className="num">{text && waited(row) >= 0 ? `${percent(text.late)} of ${count(text.views)}` : "–"}</td>
                  <td>
                    <a href={link(run, "post", text?.root ?? 0)}>{start(text?.post, 50)}</a> <Truth veracity={text?.veracity ?? "unknown"} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length > listed && (
        <button type="button" onClick={() => setListed(listed + LISTED)}>
          Show {Math.min(LISTED, rows.length - listed)} more of {count(rows.length - listed)}
        </button>
      )}
    </Section>
  );
}
