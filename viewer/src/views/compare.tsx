// Selected runs over one another: the same charts as those of a comparison, each run an arm.
import { useEffect, useState, type JSX } from "react";
import { useAnswer, type Courses, type RunRow } from "../api";
import { count, words } from "../format";
import { Problem, State } from "../parts";
import { link, type Route } from "../route";
import { LineKey, OverlayView, styleOf } from "./overlay";
import { useColors } from "../theme";

const MOST = 6;
const AGAIN = 2000;

export function Compare({ route }: { route: Route }): JSX.Element {
  const asked = [...new Set(route.query.getAll("run"))];
  const runs = asked.slice(0, MOST);
  useEffect(() => {
    document.title = "Compare · Townsquare";
  }, []);
  const listed = useListed(runs);
  const going = (listed ?? []).filter((run) => run.state === "running");
  const fresh = going.map((run) => `${run.id} ${run.step ?? ""}`).join(" ");
  const courses = useAnswer<Courses>(runs.length < 2 ? "" : "/api/courses", { run: runs }, fresh);
  if (runs.length < 2) {
    return <Problem wrong={{ where: "compare", got: `${runs.length} runs`, allowed: "two or more", do: "select them in the list of runs" }} />;
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
      <OverlayView answer={courses} query={{ run: runs }} single />
      <Which runs={runs} listed={listed ?? []} />
    </>
  );
}

// How far each is, asked again while one of them goes on: a browser keeps too few connections open for one each.
function useListed(runs: string[]): RunRow[] | null {
  const [tick, setTick] = useState(0);
  const listing = useAnswer<{ runs: RunRow[] }>("/api/runs", {}, tick);
  const listed = listing.data?.runs.filter((run) => runs.includes(run.id)) ?? (listing.wrong ? [] : null);
  const running = listed?.some((run) => run.state === "running" || run.state === "pending") ?? false;
  useEffect(() => {
    if (!running) return undefined;
    const timer = window.setInterval(() => setTick((old) => old + 1), AGAIN);
    return () => window.clearInterval(timer);
  }, [running]);
  return listed;
}

function Which({ runs, listed }: { runs: string[]; listed: RunRow[] }): JSX.Element {
  const colors = useColors();
  return (
    <section className="card scroll" aria-label="Runs">
      <table data-testid="compared">
        <thead>
          <tr>
            {["run", "state", "scenario", "arm", "seed", "people", "belief rule", "moderation"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((id, nth) => {
            const run = listed.find((known) => known.id === id);
            return (
              <tr key={id}>
                <th scope="row">
                  <LineKey style={styleOf(nth, colors)} /> <a href={link(id, "overview")}>{id}</a>
                </th>
                <td>{run && <State state={run.state} />}</td>
                <td>{run?.scenario}</td>
                <td>{run?.arm}</td>
                <td>{run?.seed}</td>
                <td>{count(run?.agents)}</td>
                <td>{words(run?.rule ?? "")}</td>
                <td>{words(run?.moderation ?? "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
