// A comparison: what it says, the primary outcome by arm, courses over one another, all outcomes, facts, its runs.
import { useEffect, useState, type JSX } from "react";
import { useAnswer, type Answer, type Answers, type ArmMean, type Compared, type Courses, type Facts } from "../api";
import { count, plural, words } from "../format";
import { Answered, Estimate, isOn, Section, State, Tag, Toggle, Verdict } from "../parts";
import { compared, link, withQuery, type Route } from "../route";
import { useColors } from "../theme";
import { LineKey, OverlayView, styleOf } from "./overlay";

const AGAIN = 3000;

export function ComparisonView({ route }: { route: Route }): JSX.Element {
  const id = route.run;
  const [tick, setTick] = useState(0);
  const answer = useAnswer<Compared>("/api/comparison", { comparison: id }, tick);
  const ended = answer.data === null || answer.data.waiting === 0;
  // Asked together with the comparison; again only while its runs go on.
  const fresh = ended ? "" : `${answer.data?.finished} ${answer.data?.failed}`;
  const courses = useAnswer<Courses>("/api/courses", { comparison: id }, fresh);
  useEffect(() => {
    document.title = `${id} · Townsquare`;
  }, [id]);
  useEffect(() => {
    if (ended) return undefined;
    const timer = window.setInterval(() => setTick((old) => old + 1), AGAIN);
    return () => window.clearInterval(timer);
  }, [ended]);
  return <Answered of={answer}>{(data) => <Inside data={data} courses={courses} route={route} fresh={fresh} />}</Answered>;
}

function Inside({ data, courses, route, fresh }: { data: Compared; courses: Answer<Courses>; route: Route; fresh: string }): JSX.Element {
  return (
    <>
      <div className="run-head">
        <nav className="crumbs" aria-label="Place">
          <a href="#/runs">Runs</a> <span aria-hidden="true">/</span> <span className="run-id">{data.id}</span>
        </nav>
        <h1>{data.heading}</h1>
        <div className="facts" data-testid="facts">
          <span>
            {data.finished} of {data.runs} runs finished
          </span>
          <span>
            {data.arms.length} arms × {data.seeds.length} seeds
          </span>
          {data.agents !== null && <span>{count(data.agents)} people</span>}
          {data.steps !== null && (
            <span>
              {count(data.steps)} steps{data.hours && ` of ${data.hours < 1 ? `${Math.round(data.hours * 60)} min` : `${Number(data.hours.toFixed(1))} h`}`}
            </span>
          )}
          <span>varied: {data.vary.join(", ") || "nothing"}</span>
          {data.report && (
            <a href={withQuery("/report", { of: data.id })} target="_blank" rel="noopener">
              Report
            </a>
          )}
        </div>
        {data.errors.map((error) => (
          <p key={error} className="warn">
            {error}
          </p>
        ))}
      </div>
      <div className="cards">
        {data.outcome && <Primary data={data} />}
        <AnswerCard id={data.id} runs={data.finished} fresh={fresh} asked={courses.data !== null || courses.wrong !== null} />
      </div>
      <OverlayView answer={courses} query={{ comparison: data.id }} single={false} />
      <Outcomes data={data} all={isOn(route.query, "all", false)} />
      <FactsCard data={data} asked={route.query.get("facts") === "1"} />
      <Members data={data} />
    </>
  );
}

// The answer takes long the first time: it is asked once the courses are there, which would else wait beside it.
function AnswerCard({ id, runs, fresh, asked }: { id: string; runs: number; fresh: string; asked: boolean }): JSX.Element {
  const answers = useAnswer<Answers>(asked ? "/api/answer" : "", { comparison: id }, fresh);
  return (
    <Section title="Answer" note={answers.data?.question} wide>
      <Answered of={answers} wait={`Working out the answer from ${plural(runs, "run")}; the first time, each run is read, which takes a while for large runs.`}>
        {(data) => (
          <div data-testid="answer">
            {data.sentences.length === 0 && <p className="muted">No run is finished yet.</p>}
            <ul className="sentences">
              {data.sentences.map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
            {data.mover.length > 0 && (
              <details>
                <summary>Who moved most</summary>
                {data.mover.map((line) => (
                  <p key={line} className="note">
                    {line}
                  </p>
                ))}
              </details>
            )}
            {data.cautions.length > 0 && (
              <details>
                <summary>What could mislead ({data.cautions.length})</summary>
                <ul className="sentences">
                  {data.cautions.map((line) => (
                    <li key={line} className="note">
                      {line}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </div>
        )}
      </Answered>
    </Section>
  );
}

function Primary({ data }: { data: Compared }): JSX.Element {
  const colors = useColors();
  const better = data.direction && data.direction !== "neither" ? `; ${data.direction}` : "";
  const ends = data.arms.flatMap((arm) => [arm.effect?.low, arm.effect?.high, arm.effect?.difference]).filter((value): value is number => typeof value === "number");
  const most = Math.max(...ends.map(Math.abs), 1e-12);
  const baseline = data.arms.find((arm) => arm.arm === data.baseline)?.label ?? "";
  return (
    <Section title={`Primary outcome: ${data.title}`} csv={{ name: "effects", query: { comparison: data.id } }} note={`${data.unit}${better}. Mean over seeds; difference from ${baseline}, paired by seed; 95% CI in parentheses.`} wide>
      <div className="scroll" tabIndex={0}>
        <table data-testid="primary">
          <thead>
            <tr>
              <th scope="col">arm</th>
              <th scope="col" className="num">
                mean
              </th>
              <th scope="col" className="num">
                difference
              </th>
              <th scope="col">
                <span className="unseen">difference, drawn</span>
              </th>
              <th scope="col">verdict</th>
            </tr>
          </thead>
          <tbody>
            {data.arms.map((arm, nth) => (
              <tr key={arm.arm}>
                <th scope="row" className="arm-name">
                  <LineKey style={styleOf(nth, colors)} /> {arm.label}
                </th>
                <td className="num">
                  <Estimate value={arm.mean} low={arm.low} high={arm.high} />
                </td>
                <td className="num">{arm.arm === data.baseline ? <span className="muted">baseline</span> : <Difference arm={arm} />}</td>
                <td className="whisker">{arm.effect && <Whisker arm={arm} most={most} color={styleOf(nth, colors).color} />}</td>
                <td>{arm.effect && <Verdict of={arm.effect.verdict} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function Difference({ arm }: { arm: ArmMean }): JSX.Element {
  if (!arm.effect) return <span className="muted">–</span>;
  return <Estimate value={arm.effect.difference} low={arm.effect.low} high={arm.effect.high} sign />;
}

// The interval around zero, on one scale for all arms.
function Whisker({ arm, most, color }: { arm: ArmMean; most: number; color: string }): JSX.Element {
  const { difference, low, high } = arm.effect ?? { difference: 0, low: null, high: null };
  const x = (value: number): number => 50 + (46 * value) / most;
  return (
    <svg viewBox="0 0 100 16" className="forest" aria-hidden="true" preserveAspectRatio="none">
      <line x1="50" x2="50" y1="0" y2="16" className="zero" />
      {low !== null && high !== null && <line x1={x(low)} x2={x(high)} y1="8" y2="8" stroke={color} strokeWidth="2" />}
      <rect x={x(difference) - 1.2} y="4.5" width="2.4" height="7" fill={color} />
    </svg>
  );
}

function Outcomes({ data, all }: { data: Compared; all: boolean }): JSX.Element {
  const rows = data.outcomes.filter((row) => all || row.main || row.outcome === data.primary);
  return (
    <Section title="Outcomes by arm" csv={{ name: "effects", query: { comparison: data.id } }} note="Baseline: mean over seeds. Other arms: difference from the baseline, paired by seed, with its 95% CI; the largest relative to its CI first. Marked where p < 0.05 after Holm’s correction." wide>
      <div className="toggles">
        <Toggle name="all" label={`all ${data.outcomes.length} outcomes`} value={all} usual={false} />
      </div>
      <div className="scroll" tabIndex={0}>
        <table data-testid="outcomes" className="outcomes">
          <thead>
            <tr>
              <th scope="col">outcome</th>
              <th scope="col">unit</th>
              {data.arms.map((arm) => (
                <th key={arm.arm} scope="col" className="num">
                  {arm.label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.outcome}>
                <th scope="row" className="wrap">
                  {row.title}
                </th>
                <td className="muted">{row.unit}</td>
                {row.arms.map((arm) => (
                  <td key={arm.arm} className={`num ${mark(arm)}`}>
                    {arm.arm === data.baseline ? <Estimate value={arm.mean} low={arm.low} high={arm.high} /> : <Difference arm={arm} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function mark(arm: ArmMean): string {
  const verdict = arm.effect?.verdict ?? "";
  return verdict === "better" ? "clear-better" : verdict === "worse" ? "clear-worse" : verdict === "higher" || verdict === "lower" ? "clear" : "";
}

function FactsCard({ data, asked }: { data: Compared; asked: boolean }): JSX.Element | null {
  const [wanted, setWanted] = useState(asked);
  if (!data.finished) return null;
  return (
    <Section title="Published facts, by arm" {...(wanted ? { csv: { name: "facts", query: { comparison: data.id } } } : {})} note="Facts about people and platforms, measured in the runs of each arm together: mean with 95% CI. ✓ the mean is inside the published range, ✗ outside; uncertain: the CI contains an end of the range; not scored: the published range was not checked against its source. Facts of the rules credence and averaging are counted apart; they are the same for all runs." wide>
      {wanted ? (
        <div className="scroll" tabIndex={0}>
          {data.arms.map((arm) => (
            <FactsOf key={arm.arm} id={data.id} arm={arm} />
          ))}
        </div>
      ) : (
        <button type="button" onClick={() => setWanted(true)}>
          Check the facts of each arm
        </button>
      )}
    </Section>
  );
}

function isMissed({ inside }: { inside: string }): boolean {
  return inside === "no" || inside === "no, uncertain";
}

function FactsOf({ id, arm }: { id: string; arm: ArmMean }): JSX.Element {
  const facts = useAnswer<Facts>(arm.n ? "/api/facts" : "", { comparison: id, arm: arm.arm });
  if (!arm.n) return <p className="muted">{arm.label}: no finished run.</p>;
  return (
    <details open data-testid="facts-of">
      <summary>
        {arm.label}
      </summary>
      <Answered of={facts}>
        {(data) => (
          <>
            {data.answer.split("\n").map((sentence) => (
              <p key={sentence}>{sentence}</p>
            ))}
            {data.checks.length > 0 && (
              <table>
                <thead>
                  <tr>
                    <th scope="col">fact</th>
                    <th scope="col" className="num">measured here</th>
                    <th scope="col" className="num">published range</th>
                    <th scope="col">unit</th>
                    <th scope="col">inside</th>
                  </tr>
                </thead>
                <tbody>
                  {[...data.checks].sort((a, b) => Number(isMissed(b)) - Number(isMissed(a))).map((check) => (
                    <tr key={check.fact}>
                      <th scope="row" className="wrap">
                        {check.statement} <small className="muted">{check.fact}</small>
                      </th>
                      <td className="num">
                        {check.value} {check.interval && <small className="muted">({check.interval})</small>}
                      </td>
                      <td className="num">{check.target}</td>
                      <td className="muted">{check.unit}</td>
                      <td>{check.inside === "not scored" ? <span className="muted">not scored</span> : <Tag kind={isMissed(check) ? "false" : "true"}>{isMissed(check) ? "✗" : "✓"} {check.inside}</Tag>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </>
        )}
      </Answered>
    </details>
  );
}

function Members({ data }: { data: Compared }): JSX.Element {
  const runs = Object.entries(data.members);
  const [person, setPerson] = useState("0");
  return (
    <Section title="Runs" wide>
      <form
        className="choice"
        onSubmit={(event) => {
          event.preventDefault();
          location.hash = compared(data.id, Number(person));
        }}
      >
        <label htmlFor="person">The same person in every arm: agent</label>
        <input id="person" type="number" min={0} max={Math.max((data.agents ?? 1) - 1, 0)} value={person} onChange={(event) => setPerson(event.target.value)} />
        <button type="submit">Show</button>
      </form>
      <div className="scroll" tabIndex={0}>
        <table data-testid="members">
          <tbody>
            {data.arms.map((arm) => (
              <tr key={arm.arm}>
                <th scope="row" title={(data.settings[arm.arm] ?? []).map(words).join(", ")}>
                  {arm.label}
                </th>
                <td>
                  <span className="seeds">
                    {runs
                      .filter(([, member]) => member.arm === arm.arm)
                      .map(([id, member]) =>
                        member.state === "finished" ? (
                          <a key={id} href={link(id, "overview")}>
                            seed {member.seed}
                          </a>
                        ) : (
                          <span key={id}>
                            seed {member.seed} <State state={member.state} />
                          </span>
                        ),
                      )}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
