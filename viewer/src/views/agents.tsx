// All persons, those that moved most first.
import { useEffect, type JSX } from "react";
import { useAnswer, type AgentRow, type Page } from "../api";
import { count, signed } from "../format";
import { Answered, Choice, Find, Pager, PropositionChoice, Section, Stance, type ViewProperties } from "../parts";
import { link } from "../route";

const ORDERS: [string, string][] = [
  ["change", "largest change"],
  ["followers", "most followers"],
  ["end", "highest stance now"],
  ["start", "highest initial stance"],
  ["agent", "number"],
];

export function Agents({ head, route, fresh }: ViewProperties): JSX.Element {
  const { query } = route;
  const p = query.get("p") ?? "";
  const asked = { run: head.id, proposition: p, sort: query.get("sort") ?? "change", find: query.get("find") ?? "", from: query.get("from") };
  const page = useAnswer<Page<AgentRow>>("/api/agents", asked, fresh);
  useEffect(() => {
    document.title = `Agents · ${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <>
      <div className="controls">
        <PropositionChoice of={head.propositions} value={p} />
        <Choice label="Order" name="sort" value={asked.sort} of={ORDERS} />
        <Find label="Find by number or name" value={asked.find} />
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

function Table({ rows, run, p }: { rows: AgentRow[]; run: string; p: string }): JSX.Element {
  return (
    <div className="scroll">
      <table data-testid="agents">
        <thead>
          <tr>
            <th scope="col">agent</th>
            <th scope="col" className="num">start</th>
            <th scope="col" className="num">now</th>
            <th scope="col" className="num">change</th>
            <th scope="col" className="num">followers</th>
            <th scope="col" className="num">joined</th>
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
