// All persons, those that moved most first.
import { useEffect, type JSX } from "react";
import { useAnswer, type AgentRow, type Page } from "../api";
import { count, signed, words } from "../format";
import { Answered, Choice, Find, Pager, Pick, PropositionChoice, Section, Stance, type ViewProperties } from "../parts";
import { change, link } from "../route";

const ORDERS: [string, string][] = [
  ["change", "largest change of stance"],
  ["followers", "most followers"],
  ["end", "highest last stance"],
  ["start", "highest initial stance"],
  ["agent", "number of the agent"],
];

export function Agents({ head, route, fresh }: ViewProperties): JSX.Element {
  const { query } = route;
  const p = query.get("p") ?? "";
  const asked = { run: head.id, proposition: p, sort: query.get("sort") ?? "change", find: query.get("find") ?? "", from: query.get("from") };
  const traits = useAnswer<{ traits: Trait[] }>("/api/traits", { run: head.id }, fresh);
  const page = useAnswer<Page<AgentRow>>("/api/agents", asked, fresh);
  useEffect(() => {
    document.title = `Agents · ${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <>
      <div className="controls">
        <PropositionChoice of={head.propositions} value={p} />
        <Choice label="Order" name="sort" value={asked.sort} of={ORDERS} />
        <Find label="Find a number, a name, or an answer (trait: answer)" value={asked.find} />
        {traits.data !== null && traits.data.traits.length > 0 && <TraitChoice traits={traits.data.traits} find={asked.find} />}
      </div>
      <Section title="Agents" wide csv={{ name: "agents", query: { ...asked, from: null } }}>
        <Answered of={page}>
          {(page) => (
            <>
              <Table rows={page.rows} run={head.id} p={p} />
              {!page.total && <p>No agent matches.</p>}
              <Pager {...page} />
            </>
          )}
        </Answered>
      </Section>
    </>
  );
}

interface Trait {
  trait: string;
  answers: { answer: string; persons: number }[];
}

// A trait and an answer, as `trait: answer` in the field beside it.
function TraitChoice({ traits, find }: { traits: Trait[]; find: string }): JSX.Element {
  const [trait = "", answer = ""] = find.includes(":") ? find.split(/:(.*)/s, 2).map((part) => part.trim().toLowerCase()) : [];
  const chosen = traits.find((known) => known.trait.toLowerCase() === trait);
  const set = (name: string, value: string | undefined): void => change({ find: name ? `${name}: ${value ?? ""}` : null, from: null });
  const given = chosen?.answers.find((given) => given.answer.toLowerCase() === answer)?.answer ?? "";
  return (
    <>
      <Pick label="Trait" value={chosen?.trait ?? ""} of={[["", "any"], ...traits.map((known): [string, string] => [known.trait, words(known.trait)])]} onPick={(name) => set(name, traits.find((known) => known.trait === name)?.answers[0]?.answer)} />
      {chosen && <Pick label="Answer" value={given} of={answersOf(chosen, given)} onPick={(value) => set(chosen.trait, value)} />}
    </>
  );
}

function answersOf(trait: Trait, given: string): [string, string][] {
  const known = trait.answers.map((given): [string, string] => [given.answer, `${given.answer} (${count(given.persons)})`]);
  return given ? known : [["", "as typed"], ...known];
}

function Table({ rows, run, p }: { rows: AgentRow[]; run: string; p: string }): JSX.Element {
  return (
    <div className="scroll">
      <table data-testid="agents">
        <thead>
          <tr>
            <th scope="col">agent</th>
            <th scope="col" className="num">initial stance</th>
            <th scope="col" className="num">last stance</th>
            <th scope="col" className="num">change of stance</th>
            <th scope="col" className="num">followers</th>
            <th scope="col" className="num">joined in step</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.agent}>
              <th scope="row">
                <a href={link(run, "agent", row.agent, { p })}>{row.who}</a>
              </th>
              <td className="num">
                <Stance value={row.start} />
              </td>
              <td className="num">
                <Stance value={row.end} />
              </td>
              <td className="num">{signed(row.change)}</td>
              <td className="num">{count(row.followers)}</td>
              <td className="num">{row.born}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
