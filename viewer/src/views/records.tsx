// Argument records of an agent after a step: those that count, and those archived with what replaced them.
import type { JSX } from "react";
import { useAnswer, type Held, type Records } from "../api";
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

export function RecordsSection(place: Place): JSX.Element {
  const query: Query = { ...place };
  const answer = useAnswer<Records>("/api/records", query);
  const { query: now } = useRoute();
  const asked = now.get("record");
  const all = now.get("records") === "all";
  return (
    <Section title={`Argument records after step ${place.step}`} wide csv={{ name: "records", query }}>
      <Answered of={answer}>
        {(found) => (
          <>
            {found.log_odds !== undefined && (
              <p className="sum">
                The start {signed(found.prior)} and the active records give L = {signed(found.log_odds)}, stance{" "}
                <Stance value={found.stance ?? null} digits={4} />: {found.agrees ? "as recorded." : `not the recorded ${signed(found.recorded, 4)}.`}
              </p>
            )}
            {found.uptake !== undefined && (
              <p className="facts">
                <span>uptake {plain(found.uptake)}</span>
                <span>anchoring {plain(found.anchoring)}</span>
                {found.profile && <span>profile: {found.profile}</span>}
              </p>
            )}
            <ul className="posts" data-testid="records">
              {ordered(found.records, all).map((held) => (
                <Row key={held.claim} held={held} all={found.records} place={place} asked={asked === String(held.claim)} />
              ))}
            </ul>
            {!all && found.records.length > SHOWN && (
              <button type="button" onClick={() => change({ records: "all" })}>
                Show all {found.records.length} records
              </button>
            )}
            {!found.records.length && <p>It holds no record on this proposition.</p>}
          </>
        )}
      </Answered>
    </Section>
  );
}

// The heaviest first; of a long list some of those that count and some of those that no longer do.
function ordered(records: Held[], all: boolean): Held[] {
  const active = records.filter((one) => one.active).sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const archived = records.filter((one) => !one.active).sort((a, b) => b.since - a.since);
  if (all || records.length <= SHOWN) return [...active, ...archived];
  const gone = archived.slice(0, SHOWN / 3);
  return [...active.slice(0, SHOWN - gone.length), ...gone];
}

function Row({ held, all, place, asked }: { held: Held; all: Held[]; place: Place; asked: boolean }): JSX.Element {
  const by = all.find((one) => one.claim === held.by);
  return (
    <li className={held.active ? "" : "archived"}>
      <p className="quote">{held.text}</p>
      <p className="facts">
        <Tag kind={held.polarity > 0 ? "true" : "false"}>{held.polarity > 0 ? "for" : "against"}</Tag>
        <span>adds {held.active ? signed(held.amount) : "nothing"}</span>
        <span>strength {plain(held.strength)}</span>
        <span>{held.origin}</span>
        {held.author !== null && <a href={link(place.run, "agent", held.author)}>{held.name}</a>}
        {held.post !== null && <a href={link(place.run, "post", held.post)}>the post</a>}
        {!held.active && (
          <span>
            {held.change} in step {held.since}
          </span>
        )}
      </p>
      {by && <p className="note">Replaced by: {by.text}</p>}
      {held.active && (
        <button type="button" className="link" aria-expanded={asked} onClick={() => change({ record: asked ? null : held.claim })}>
          {asked ? "Hide" : "Without this one"}
        </button>
      )}
      {asked && <WithoutIt place={place} claim={held.claim} />}
    </li>
  );
}

function WithoutIt({ place, claim }: { place: Place; claim: number }): JSX.Element {
  const answer = useAnswer<{ stance: number; recorded: number }>("/api/without-record", { ...place, claim });
  return (
    <div className="without" data-testid="without-record">
      <Answered of={answer}>
        {(left) => (
          <p>
            Without it, the stance would be <Stance value={left.stance} digits={4} /> instead of <Stance value={left.recorded} digits={4} />.{" "}
            <span className="muted">Records add, so this is exact; what it had archived stays archived.</span>
          </p>
        )}
      </Answered>
    </div>
  );
}
