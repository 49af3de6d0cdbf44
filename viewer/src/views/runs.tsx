// The list of comparisons and runs: one dense table, grouped, sorted, filtered and searched; live while runs go on.
import { memo, useEffect, useMemo, useState, type JSX } from "react";
import { useAnswer, type ArmMean, type Comparison, type RunRow } from "../api";
import { clock, count, percent, plural, short } from "../format";
import { Answered, Choice, Estimate, Find, State, Verdict } from "../parts";
import { change, changeAll, compared, link, useRoute, withQuery } from "../route";

const AGAIN = 2000;
const NOW_AND_THEN = 10_000; // while nothing goes on: a run may begin
const AT_ONCE = 100; // while some runs are not read yet
const LOADED_AFTER = 600; // the view that comes next, once the list is there
const ALONE = "Runs outside comparisons";

interface Listing {
  folder: string;
  runs: RunRow[];
  debates: string[];
  comparisons: Comparison[];
  outcomes: { name: string; title: string }[];
  pending: number;
}

interface RunEntry extends RunRow {
  of: string;
  label: string;
  value: number | null;
  unit: string;
}

interface Group {
  name: string;
  of: Comparison | null;
  lines: RunEntry[];
}

type Key = "id" | "state" | "scenario" | "label" | "seed" | "agents" | "step" | "value" | "refused_share" | "health";

const COLUMNS: { key: Key; title: string; num?: boolean; about?: string }[] = [
  { key: "id", title: "Run" },
  { key: "state", title: "State" },
  { key: "scenario", title: "Scenario" },
  { key: "label", title: "Arm" },
  { key: "seed", title: "Seed", num: true },
  { key: "agents", title: "People", num: true },
  { key: "step", title: "Step", num: true },
  { key: "value", title: "Outcome", num: true },
  { key: "refused_share", title: "Verdict or refused actions", num: true, about: "of an arm the verdict on its difference, of a run the share of all actions, ignoring included, that were refused" },
  { key: "health", title: "Health" },
];
const DIFFERENCE = (
  <th key="difference" scope="col" className="num" title="from the baseline, paired by seed, with 95% CI">
    Difference
  </th>
);
const KEYS = new Set<string>(COLUMNS.map((column) => column.key));

export function Runs(): JSX.Element {
  const [tick, setTick] = useState(0);
  const outcome = useRoute().query.get("outcome");
  const listing = useAnswer<Listing>("/api/runs", { outcome }, tick);
  const data = listing.data;
  const running = data?.runs.some((run) => run.state === "running" || run.state === "unreadable");
  const pause = data?.pending ? AT_ONCE : running ? AGAIN : NOW_AND_THEN;
  useEffect(() => {
    document.title = "Runs · Townsquare";
    const timer = window.setTimeout(() => void import("./comparison"), LOADED_AFTER);
    return () => window.clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (data === null) return undefined;
    const timer = window.setTimeout(() => setTick((old) => old + 1), pause);
    return () => window.clearTimeout(timer);
  }, [data, listing.wrong, pause]);
  return <Answered of={listing}>{(data) => <List listing={data} />}</Answered>;
}

function List({ listing }: { listing: Listing }): JSX.Element {
  const { query } = useRoute();
  const ids = query.getAll("run");
  const chosen = new Set(ids);
  const lines = useMemo(() => linesOf(listing), [listing]);
  const asked = { find: query.get("find") ?? "", state: query.get("state") ?? "", scenario: query.get("scenario") ?? "" };
  const by = query.get("group") ?? "comparison";
  const key = (KEYS.has(query.get("sort") ?? "") ? query.get("sort") : "id") as Key;
  const down = query.get("down") === "1";
  const matching = useMemo(() => filtered(lines, asked), [lines, asked.find, asked.state, asked.scenario]);
  const groups = useMemo(() => grouped(matching, listing.comparisons, by, key, down), [matching, listing.comparisons, by, key, down]);
  const narrowed = Boolean(asked.find || asked.state || asked.scenario);
  if (!listing.runs.length && !listing.debates.length && !listing.comparisons.length) return <Nothing folder={listing.folder} />;
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <span className="muted" data-testid="counted">
          {matching.length < lines.length && `${count(matching.length)} of `}
          {plural(lines.length, "run")}
          {listing.comparisons.length > 0 && ` and ${plural(listing.comparisons.length, "comparison")}`} in the folder “{listing.folder}”
          {listing.pending > 0 && `; reading ${count(listing.pending)} more`}
        </span>
        <a className="csv" href={withQuery("/api/runs", { as: "csv", outcome: query.get("outcome") })} download aria-label="CSV: Runs">
          CSV
        </a>
      </div>
      {lines.length > 1 && (
        <div className="controls still">
          <Find label="Search" value={asked.find} />
          <Choice label="State" name="state" value={asked.state} of={options(lines, (line) => line.state)} />
          <Choice label="Scenario" name="scenario" value={asked.scenario} of={options(lines, (line) => line.scenario ?? "")} />
          <Choice label="Group by" name="group" value={by} of={GROUPS} />
          {listing.outcomes.length > 0 && (
            <Choice label="Outcome" name="outcome" value={query.get("outcome") ?? ""} of={[["", "primary outcome"], ...listing.outcomes.map((known): [string, string] => [known.name, known.title])]} />
          )}
        </div>
      )}
      <div className="card scroll table-card">
        <table className="list" data-testid="runs">
          <thead>
            <tr>
              <th scope="col">
                <span className="unseen">Select to compare</span>
              </th>
              {COLUMNS.flatMap((column) => [
                <SortHeading key={column.key} name={column.key} title={column.title} num={column.num ?? false} about={column.about ?? ""} sorted={key === column.key ? (down ? "descending" : "ascending") : "none"} />,
                ...(column.key === "value" ? [DIFFERENCE] : []),
              ])}
            </tr>
          </thead>
          {groups.map((group) => {
            const open = group.of === null || narrowed || query.getAll("open").includes(group.name);
            return (
              <tbody key={group.name} data-testid="group">
                {group.name && <GroupRow group={group} open={open} fixed={group.of === null || narrowed} />}
                {group.of && ordered(group.of.arms, key, down).map((arm) => <ArmRow key={arm.arm} arm={arm} of={group.of as Comparison} />)}
                {open && group.lines.map((line) => <RunLine key={line.id} line={line} chosen={chosen.has(line.id)} ids={ids} whole={by !== "comparison"} />)}
              </tbody>
            );
          })}
        </table>
        {!matching.length && lines.length > 0 && <p>No run matches.</p>}
      </div>
      {listing.debates.length > 0 && (
        <>
          <h2 className="apart">Debates</h2>
          <ul className="runs" data-testid="debates">
            {listing.debates.map((id) => (
              <li key={id} className="run run-title">
                <a href={`#/debate/${encodeURIComponent(id)}`}>{id}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      {listing.runs.length > 1 && (
        <div className="compare-bar">
          <a className="button" href={withQuery("#/compare", { run: ids })} aria-disabled={chosen.size < 2} onClick={(event) => chosen.size < 2 && event.preventDefault()}>
            Compare
          </a>
          <span className="muted">{chosen.size < 2 ? "Select two to six runs to draw them over one another." : `${chosen.size} runs`}</span>
        </div>
      )}
    </>
  );
}

const GROUPS: [string, string][] = [
  ["comparison", "comparison"],
  ["scenario", "scenario"],
  ["label", "arm"],
  ["none", "nothing"],
];

function options(lines: RunEntry[], of: (line: RunEntry) => string): [string, string][] {
  const known = [...new Set(lines.map(of))].filter(Boolean).sort();
  return [["", "all"], ...known.map((name): [string, string] => [name, name])];
}

function linesOf(listing: Listing): RunEntry[] {
  const members = new Map(listing.comparisons.flatMap((of) => Object.entries(of.members).map(([id, member]) => [id, { of, member }] as const)));
  const read = new Set(listing.runs.map((run) => run.id));
  const waiting = [...members].filter(([id]) => !read.has(id)).map(([id, { member }]): RunRow => ({ id, arm: member.arm, error: null, state: member.state }));
  return [...listing.runs, ...waiting].map((run) => {
    const known = members.get(run.id);
    const state = run.state === "pending" && known ? known.member.state : run.state;
    return {
      ...run,
      state,
      of: known?.of.id ?? "",
      label: known?.member.label ?? run.arm,
      value: known?.member.value ?? null,
      unit: known?.of.unit ?? "",
      ...(known && run.seed === undefined ? { seed: known.member.seed } : {}),
    };
  });
}

function filtered(lines: RunEntry[], asked: { find: string; state: string; scenario: string }): RunEntry[] {
  const terms = asked.find.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((line) => {
    if (asked.state && line.state !== asked.state) return false;
    if (asked.scenario && (line.scenario ?? "") !== asked.scenario) return false;
    const text = `${line.id} ${line.scenario ?? ""} ${line.arm} ${line.label} ${line.seed ?? ""} ${line.rule ?? ""} ${line.moderation ?? ""}`.toLowerCase();
    return terms.every((term) => text.includes(term));
  });
}

function grouped(lines: RunEntry[], comparisons: Comparison[], by: string, key: Key, down: boolean): Group[] {
  const of = (line: RunEntry): string => (by === "comparison" ? line.of || ALONE : by === "none" ? "" : String(line[by as Key] ?? "") || "none");
  const groups = new Map<string, RunEntry[]>();
  for (const line of lines) {
    const name = of(line);
    const members = groups.get(name);
    if (members) members.push(line);
    else groups.set(name, [line]);
  }
  const known = new Map(comparisons.map((known) => [known.id, known]));
  return [...groups]
    .map(([name, members]): Group => ({ name, of: by === "comparison" ? (known.get(name) ?? null) : null, lines: members.sort((a, b) => inOrder(a[key], b[key], down) || inOrder(a.id, b.id, false)) }))
    .map((group) => (groups.size === 1 && group.name === ALONE ? { ...group, name: "" } : group))
    .sort((a, b) => Number(a.name === ALONE) - Number(b.name === ALONE) || inOrder(a.name, b.name, key === "id" && down));
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

// Values that are missing come last, in both orders.
function inOrder(a: string | number | null | undefined, b: string | number | null | undefined, down: boolean): number {
  const [left, right] = [a ?? null, b ?? null];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  const order = typeof left === "number" && typeof right === "number" ? left - right : COLLATOR.compare(String(left), String(right));
  return down ? -order : order;
}

function ordered(arms: ArmMean[], key: Key, down: boolean): ArmMean[] {
  return key === "value" ? [...arms].sort((a, b) => inOrder(a.mean, b.mean, down)) : arms;
}

function SortHeading({ name, title, num, about, sorted }: { name: Key; title: string; num: boolean; about: string; sorted: "ascending" | "descending" | "none" }): JSX.Element {
  const sort = (): void => change({ sort: name === "id" && sorted === "none" ? null : name, down: sorted === "ascending" ? 1 : null });
  return (
    <th scope="col" className={num ? "num" : ""} aria-sort={sorted}>
      <button type="button" className="sort" onClick={sort} title={about}>
        {title}
        <span aria-hidden="true">{sorted === "ascending" ? " ▲" : sorted === "descending" ? " ▼" : ""}</span>
      </button>
    </th>
  );
}

function GroupRow({ group, open, fixed }: { group: Group; open: boolean; fixed: boolean }): JSX.Element {
  const { of } = group;
  const names = useRoute().query.getAll("open");
  const toggle = (): void => changeAll("open", open ? names.filter((name) => name !== group.name) : [...names, group.name]);
  return (
    <tr className="group">
      <th scope="colgroup" colSpan={COLUMNS.length + 2}>
        <div className="group-head">
          {of ? <a href={compared(of.id)}>{of.id}</a> : <strong>{group.name}</strong>}
          {of && (
            <>
              <span className="muted">
                {of.vary.join(", ")} · {of.finished} of {plural(of.runs, "run")} finished{of.failed > 0 && `, ${of.failed} failed`}
              </span>
              {of.title && (
                <span className="muted">
                  {of.title} ({of.unit}
                  {of.direction && of.direction !== "neither" && `; ${of.direction}`})
                </span>
              )}
              {of.report && (
                <a href={withQuery("/report", { of: of.id })} target="_blank" rel="noopener">
                  Report
                </a>
              )}
            </>
          )}
          {fixed ? (
            <span className="muted">{plural(group.lines.length, "run")}</span>
          ) : (
            <button type="button" aria-expanded={open} onClick={toggle}>
              {open ? "Hide" : "Show"} {plural(group.lines.length, "run")}
            </button>
          )}
        </div>
      </th>
    </tr>
  );
}

function ArmRow({ arm, of }: { arm: ArmMean; of: Comparison }): JSX.Element {
  const none = of.finished < of.runs ? "no value yet" : "no value";
  return (
    <tr className="arm">
      <td />
      <th scope="row">{arm.label}</th>
      <td />
      <td />
      <td className="muted">{arm.arm === of.baseline ? "baseline" : ""}</td>
      <td className="num muted">{arm.n > 0 && plural(arm.n, "seed")}</td>
      <td />
      <td />
      <td className="num">{arm.n ? <Estimate value={arm.mean} low={arm.low} high={arm.high} /> : <span className="muted">{none}</span>}</td>
      <td className="num">{arm.effect && <Estimate value={arm.effect.difference} low={arm.effect.low} high={arm.effect.high} sign />}</td>
      <td colSpan={2}>{arm.effect && of.outcome === of.primary && <Verdict of={arm.effect.verdict} />}</td>
    </tr>
  );
}

const RunLine = memo(OneLine, (a, b) => a.line === b.line && a.chosen === b.chosen && a.ids.length === b.ids.length && a.whole === b.whole);

function OneLine({ line, chosen, ids, whole }: { line: RunEntry; chosen: boolean; ids: string[]; whole: boolean }): JSX.Element {
  const readable = line.server !== undefined || (!line.error && (line.step ?? -1) >= 0) || line.state === "finished";
  const choose = (): void => changeAll("run", chosen ? ids.filter((other) => other !== line.id) : [...ids, line.id]);
  const name = !whole && line.of && line.id.startsWith(`${line.of}/`) ? line.id.slice(line.of.length + 1) : line.id;
  const steps = line.steps ?? null;
  return (
    <tr className={chosen ? "run-line chosen" : "run-line"}>
      <td>{readable && <input type="checkbox" checked={chosen} onChange={choose} aria-label={`Compare ${line.id}`} />}</td>
      <th scope="row" title={line.id}>
        {readable ? <a href={link(line.id, "overview")}>{name}</a> : name}
      </th>
      <td>
        <State state={line.state} />
      </td>
      <td>{line.scenario}</td>
      <td>{line.label}</td>
      <td className="num">{line.seed}</td>
      <td className="num">{line.agents === undefined ? "" : count(line.agents)}</td>
      <td className="num">
        {line.step !== undefined && line.step >= 0 && (
          <span title={clock(line.step, line.hours, steps ?? line.step)}>
            {line.state !== "finished" && steps !== null && <progress max={steps} value={line.step} aria-label={`Progress of ${line.id}`} />} {line.step} of {steps}
          </span>
        )}
      </td>
      <td className="num">{line.value === null ? "" : short(line.value)}</td>
      <td />
      <td className="num">{line.refused_share === undefined ? "" : percent(line.refused_share, 1)}</td>
      <td>
        {line.error ? <span className="warn-text">{line.error.got || line.error.where}. {line.error.do}</span> : (line.problems ?? []).length ? <span className="warn-text">{(line.problems ?? []).join("; ")}</span> : line.server ? <span className="muted">open it to connect to {line.server}</span> : line.health}
      </td>
    </tr>
  );
}

function Nothing({ folder }: { folder: string }): JSX.Element {
  return (
    <div className="problem" data-testid="problem">
      <strong>No runs yet.</strong>
      <p>The folder {folder} contains no recorded run. Record one with:</p>
      <pre>townsquare run health-rumor</pre>
      <p>Then reload this page.</p>
    </div>
  );
}
