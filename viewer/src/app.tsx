// The frame of every page: where one is, whether the run is going on, and the views of a run.
import { useEffect, useState, type ComponentType, type JSX } from "react";
import { useAnswer, useLive, type Head } from "./api";
import { clock, count, words } from "./format";
import { Answered, State, type ViewProperties } from "./parts";
import { compared, link, useRoute, type Route } from "./route";
import { toggleScheme, useScheme } from "./theme";
import { Agents } from "./views/agents";
import { Runs } from "./views/runs";

// Charts and the network are large: the list of runs is there before they are.
export const comparison = (): Promise<typeof import("./views/comparison")> => import("./views/comparison");
const overview = (): Promise<typeof import("./views/overview")> => import("./views/overview");
const Agent = loaded(() => import("./views/agent").then((file) => file.Agent));
const Cascades = loaded(() => import("./views/cascade").then((file) => file.Cascades));
const Compare = loaded(() => import("./views/compare").then((file) => file.Compare));
const Comparison = loaded(() => comparison().then((file) => file.ComparisonView));
const Debate = loaded(() => import("./views/debate").then((file) => file.Debate));
const Network = loaded(() => import("./views/network").then((file) => file.NetworkView));
const Notes = loaded(() => import("./views/notes").then((file) => file.Notes));
const Overview = loaded(() => overview().then((file) => file.Overview));
const PersonInArms = loaded(() => import("./views/person").then((file) => file.PersonInArms));
const Post = loaded(() => import("./views/post").then((file) => file.Post));
const Posts = loaded(() => import("./views/posts").then((file) => file.Posts));

const TABS: [string, string, string[]][] = [
  ["overview", "Overview", ["overview"]],
  ["network", "Network", ["network"]],
  ["agents", "Agents", ["agents", "agent"]],
  ["posts", "Posts", ["posts", "post"]],
  ["cascade", "Cascades", ["cascade"]],
  ["notes", "Notes", ["notes"]],
];

export function App(): JSX.Element {
  const route = useRoute();
  const scheme = useScheme();
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [route.view, route.run, route.id]);
  return (
    <>
      <a className="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header className="top">
        <a className="brand" href="#/runs">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <circle cx="6.5" cy="7" r="3" className="con" />
            <circle cx="17.5" cy="7" r="3" className="mid" />
            <circle cx="12" cy="17" r="3.6" className="pro" />
            <path d="M8.5 9.2 10.3 13.6M15.5 9.2 13.7 13.6M9.6 7h4.8" />
          </svg>
          Townsquare
        </a>
        <button type="button" className="icon" onClick={toggleScheme} aria-label={scheme === "dark" ? "Light colors" : "Dark colors"}>
          {scheme === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {route.run && !OF_MANY.has(route.view) ? <OneRun key={route.run} route={route} /> : <Many route={route} />}
      </main>
    </>
  );
}

// The address holds the view, so that an anchor cannot be used to get to the content.
function skip(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

// A view from a file of its own. React's `lazy` would wait 300 ms before it replaces what it showed meanwhile.
function loaded<P extends object>(load: () => Promise<ComponentType<P>>): (properties: P) => JSX.Element {
  let known: ComponentType<P> | null = null;
  return function Loaded(properties: P): JSX.Element {
    const [View, show] = useState<ComponentType<P> | null>(() => known);
    useEffect(() => {
      if (!View) void load().then((file) => show(() => (known = file)));
    }, [View]);
    return View ? <View {...properties} /> : <p className="loading">Loading…</p>;
  };
}

const OF_MANY = new Set(["debate", "comparison", "person"]);

function Many({ route }: { route: Route }): JSX.Element {
  if (route.view === "comparison") return <Comparison key={route.run} route={route} />;
  if (route.view === "person" && route.id !== null) return <PersonInArms key={`${route.run} ${route.id}`} route={route} agent={route.id} />;
  if (route.view === "debate") return <Debate route={route} />;
  if (route.view === "compare") return <Compare route={route} />;
  return <Runs />;
}

function OneRun({ route }: { route: Route }): JSX.Element {
  const live = useLive(route.run);
  useEffect(() => {
    void overview(); // on its way while the record is being read
  }, []);
  const fresh = `${live?.step ?? ""} ${live?.state ?? ""}`;
  const head = useAnswer<Head>("/api/run", { run: route.run }, fresh);
  return (
    <Answered of={head}>
      {(head) => (
        <>
          <RunHead head={head} route={route} />
          <View head={head} route={route} fresh={`${head.last_step} ${head.state}`} />
        </>
      )}
    </Answered>
  );
}

function RunHead({ head, route }: { head: Head; route: Route }): JSX.Element {
  const query = { p: route.query.get("p"), step: route.query.get("step") };
  return (
    <div className="run-head">
      <nav className="crumbs" aria-label="Place">
        <a href="#/runs">Runs</a> <span aria-hidden="true">/</span>{" "}
        {head.comparison && (
          <>
            <a href={compared(head.comparison)}>{head.comparison}</a> <span aria-hidden="true">/</span>{" "}
          </>
        )}
        <h1 className="run-id">{head.comparison && head.id.startsWith(`${head.comparison}/`) ? head.id.slice(head.comparison.length + 1) : head.id}</h1>
      </nav>
      <div className="facts" data-testid="facts">
        <strong>{head.scenario ?? ""}</strong>
        {head.arm && <span>{head.arm}</span>}
        <span>seed {head.seed}</span>
        <span>{count(head.agents)} people</span>
        <span>belief rule: {words(head.rule ?? "")}</span>
        <span>moderation: {words(head.moderation ?? "")}</span>
        <State state={head.state} />
        <span data-testid="progress">
          step {head.last_step} of {head.steps}
          {head.hours && ` (${clock(head.last_step, head.hours, head.steps ?? head.last_step)})`}
        </span>
      </div>
      {(head.problems ?? []).map((problem) => (
        <p key={problem} className="warn">
          {problem}
        </p>
      ))}
      <nav className="tabs" aria-label="Views of this run">
        {TABS.map(([view, title, on]) => (
          <a key={view} ref={on.includes(route.view) ? inSight : null} href={link(head.id, view, null, query)} aria-current={on.includes(route.view) ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </div>
  );
}

// On a phone, not all tabs fit.
function inSight(tab: HTMLElement | null): void {
  tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function View(properties: ViewProperties): JSX.Element {
  const { view, id } = properties.route;
  if (view === "network") return <Network {...properties} />;
  if (view === "notes") return <Notes {...properties} />;
  if (view === "cascade") return <Cascades {...properties} id={id} />;
  if (view === "agents") return <Agents {...properties} />;
  if (view === "agent" && id !== null) return <Agent key={id} {...properties} id={id} />;
  if (view === "posts") return <Posts {...properties} />;
  if (view === "post" && id !== null) return <Post key={id} {...properties} id={id} />;
  if (view === "overview") return <Overview {...properties} />;
  return <p>No such view. Choose a view above.</p>;
}
