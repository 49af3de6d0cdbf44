// Argument records of an agent after a step: those that count, and those archived with what replaced them.
import type { JSX } from "react";
import { useAnswer, type ArgumentRecord, type Records } from "../api";
import { plain, signed } from "../format";
import { Answered, Section, Stance, Tag } from "../parts";
import { change, link, useRoute, type Query } from "../route";

const SHOWN = 12;

interface Place {
  run: string;
  agent: number;
  step: number;
  proposition: string;
}

export function RecordsSection(where: Place): JSX.Element {
  const query: Query = { ...where };
  const answer = useAnswer<Records>("/api/records", query);
  const { query: now } = useRoute();
  const asked = now.get("record");
  const all = now.get("records") === "all";
  return (
    <Section title={`Argument records after step ${where.step}`} wide csv={{ name: "records", query }}>
      <Answered of={answer}>
        {(data) => (
          <>
            {data.log_odds !== undefined && (
              <p className="sum">
                Initial log odds {signed(data.prior)} plus the active records give log odds {signed(data.log_odds)}, stance{" "}
                <Stance value={data.stance ?? null} digits={4} />: {data.agrees ? "equal to the recorded stance." : `not equal to the recorded stance, ${signed(data.recorded, 4)}.`}
              </p>
            )}
            {data.uptake !== undefined && (
              <p className="facts">
                <span>uptake {plain(data.uptake)}</span>
                <span>anchoring {plain(data.anchoring)}</span>
                {data.profile && <span>profile: {data.profile}</span>}
              </p>
            )}
            <ul className="posts" data-testid="records">
              {ordered(data.records, all).map((record) => (
                <Row key={record.claim} record={record} all={data.records} where={where} asked={asked === String(record.claim)} />
              ))}
            </ul>
            {!all && data.records.length > SHOWN && (
              <button type="button" onClick={() => change({ records: "all" })}>
                Show all {data.records.length} records
              </button>
            )}
            {!data.records.length && <p>The agent has no record on this proposition.</p>}
          </>
        )}
      </Answered>
    </Section>
  );
}

// The heaviest first; of a long list some of those that count and some of those that no longer do.
function ordered(records: ArgumentRecord[], all: boolean): ArgumentRecord[] {
  const active = records.filter((other) => other.active).sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const archived = records.filter((other) => !other.active).sort((a, b) => b.since - a.since);
  if (all || records.length <= SHOWN) return [...active, ...archived];
  const gone = archived.slice(0, SHOWN / 3);
  return [...active.slice(0, SHOWN - gone.length), ...gone];
}

function Row({ record, all, where, asked }: { record: ArgumentRecord; all: ArgumentRecord[]; where: Place; asked: boolean }): JSX.Element {
  const by = all.find((other) => other.claim === record.by);
  return (
    <li className={record.active ? "" : "archived"}>
      <p className="quote">{record.text}</p>
      <p className="facts">
        <Tag kind={record.polarity > 0 ? "true" : "false"}>{record.polarity > 0 ? "for" : "against"}</Tag>
        <span>adds {record.active ? signed(record.amount) : "nothing"}</span>
        <span>strength {plain(record.strength)}</span>
        <span>{record.origin}</span>
        {record.author !== null && <a href={link(where.run, "agent", record.author)}>{record.name}</a>}
        {record.post !== null && <a href={link(where.run, "post", record.post)}>the post</a>}
        {!record.active && (
          <span>
            {record.change} in step {record.since}
          </span>
        )}
      </p>
      {by && <p className="note">Replaced by: {by.text}</p>}
      {record.active && (
        <button type="button" className="link" aria-expanded={asked} onClick={() => change({ record: asked ? null : record.claim })}>
          {asked ? "Hide" : "Belief without this record"}
        </button>
      )}
      {asked && <WithoutIt where={where} claim={record.claim} />}
    </li>
  );
}

function WithoutIt({ where, claim }: { where: Place; claim: number }): JSX.Element {
  const answer = useAnswer<{ stance: number; recorded: number }>("/api/without-record", { ...where, claim });
  return (
    <div className="without" data-testid="without-record">
      <Answered of={answer}>
        {(left) => (
          <p>
            Without it, the stance would be <Stance value={left.stance} digits={4} /> instead of <Stance value={left.recorded} digits={4} />.{" "}
            <span className="muted">Exact: contributions of records add up. Records that this one had archived stay archived.</span>
          </p>
        )}
      </Answered>
    </div>
  );
}
