// The list of runs: what each is, how far it is, whether it can be believed; two or more can be put side by side.
import { useEffect, useState, type JSX } from "react";
import { useAnswer, type RunRow } from "../api";
import { count, percent, words } from "../format";
import { Answered, State } from "../parts";
import { changeAll, link, useRoute } from "../route";

const AGAIN = 2000;
const NOW_AND_THEN = 10_000; // while nothing goes on: a run may begin

interface Listing {
  folder: string;
  runs: RunRow[];
  debates: string[];
}

export function Runs(): JSX.Element {
  const [tick, setTick] = useState(0);
  const listing = useAnswer<Listing>("/api/runs", {}, tick);
  const running = listing.data?.runs.some((run) => run.state === "running" || run.state === "unreadable");
  useEffect(() => {
    document.title = "Runs · Townsquare";
    const timer = window.setInterval(() => setTick((old) => old + 1), running ? AGAIN : NOW_AND_THEN);
    return () => window.clearInterval(timer);
  }, [running]);
  return <Answered of={listing}>{(data) => <List listing={data} />}</Answered>;
}

function List({ listing }: { listing: Listing }): JSX.Element {
  const ids = useRoute().query.getAll("run");
  const chosen = new Set(ids);
  const choose = (id: string): void => changeAll("run", chosen.has(id) ? ids.filter((other) => other !== id) : [...ids, id]);
  if (!listing.runs.length && !listing.debates.length) return <Nothing folder={listing.folder} />;
  return (
    <>
      <div className="page-head">
        <h1>Runs</h1>
        <span className="muted">
          {count(listing.runs.length)} in the folder {listing.folder}
        </span>
        <a className="csv" href="/api/runs?as=csv" download aria-label="CSV: Runs">
          CSV
        </a>
      </div>
      <ul className="runs" data-testid="runs">
        {listing.runs.map((run) => (
          <RunCard key={run.id} run={run} alone={listing.runs.length < 2} chosen={chosen.has(run.id)} onChoose={() => choose(run.id)} />
        ))}
      </ul>
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
          <a className="button" href={comparison(ids)} aria-disabled={chosen.size < 2} onClick={(event) => chosen.size < 2 && event.preventDefault()}>
            Compare
          </a>
          <span className="muted">{chosen.size < 2 ? "Select two or more runs." : `${chosen.size} runs`}</span>
        </div>
      )}
    </>
  );
}

function comparison(ids: string[]): string {
  return `#/compare?${ids.map((id) => `run=${encodeURIComponent(id)}`).join("&")}`;
}

interface CardProperties {
  run: RunRow;
  alone: boolean;
  chosen: boolean;
  onChoose: () => void;
}

function RunCard({ run, alone, chosen, onChoose }: CardProperties): JSX.Element {
  const done = Math.max(0, run.step ?? 0);
  const readable = run.server !== undefined || (!run.error && (run.step ?? -1) >= 0);
  return (
    <li className={chosen ? "run chosen" : "run"}>
      <div className="run-title">
        {readable ? <a href={link(run.id, "overview")}>{run.id}</a> : <strong>{run.id}</strong>}
        <State state={run.state} />
        {readable && !alone && (
          <label className="pick">
            <input type="checkbox" checked={chosen} onChange={onChoose} aria-label={`Compare ${run.id}`} /> compare
          </label>
        )}
      </div>
      {run.error && (
        <p className="warn">
          {run.error.got || run.error.where}. {run.error.do}
        </p>
      )}
      {run.server && <p className="muted">On a server: open the run to connect to {run.server}</p>}
      {!run.error && !run.server && (
        <>
          <dl className="run-facts">
            <Fact name="Scenario" value={run.scenario ?? ""} />
            {run.arm && <Fact name="Arm" value={run.arm} />}
            <Fact name="Seed" value={String(run.seed ?? "")} />
            <Fact name="Health" value={run.health ?? ""} />
            <Fact name="Agents" value={count(run.agents)} />
            <Fact name="Moderation" value={words(run.moderation ?? "")} />
            <Fact name="Belief rule" value={run.rule ?? ""} />
            <Fact name="Exposures" value={count(run.exposures)} />
            <Fact name="Rejected" value={percent(run.refused_share, 1)} />
          </dl>
          <div className="progress">
            <progress max={run.steps ?? 1} value={done} aria-label={`Progress of ${run.id}`} />
            <span>
              step {done} of {run.steps}
            </span>
          </div>
          {(run.problems ?? []).map((problem) => (
            <p key={problem} className="warn">
              {problem}
            </p>
          ))}
        </>
      )}
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
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
