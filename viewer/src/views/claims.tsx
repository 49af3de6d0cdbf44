// Claims that an agent saw: its belief in each before and at the last exposure, and why that changed.
import { useState, type JSX } from "react";
import { useAnswer, type ClaimBelief } from "../api";
import { moment, percent, signed } from "../format";
import { Answered, Section, Tag } from "../parts";
import type { Query } from "../route";

interface Place {
  run: string;
  agent: number;
  hours: number | null | undefined;
  fresh: string;
}

const LISTED = 10; // claims at first
const MORE = 50;
const PARTS = ["start", "sources", "readings", "label", "note", "judged"] as const;

export function ClaimsSection({ run, agent, hours, fresh }: Place): JSX.Element {
  const query: Query = { run, agent };
  const [most, setMost] = useState(LISTED);
  const answer = useAnswer<{ met: number; claims: ClaimBelief[] }>("/api/claims", { ...query, most }, fresh);
  return (
    <Section title="Belief in claims" wide csv={{ name: "claims", query }} note="The probability with which the agent believes a claim, before the first exposure and at the last one. Claims whose probability crossed 50% come first.">
      <Answered of={answer}>
        {(data) => (
          <>
            <ul className="posts" data-testid="claims">
              {data.claims.map((belief) => (
                <Claim key={belief.claim} belief={belief} hours={hours} />
              ))}
            </ul>
            {data.met > data.claims.length && (
              <button type="button" onClick={() => setMost(most + MORE)}>
                Show {Math.min(MORE, data.met - data.claims.length)} more of {data.met - data.claims.length}
              </button>
            )}
            {!data.met && <p>The agent saw no claim.</p>}
          </>
        )}
      </Answered>
    </Section>
  );
}

function Claim({ belief, hours }: { belief: ClaimBelief; hours: number | null | undefined }): JSX.Element {
  const last = belief.meetings[belief.meetings.length - 1];
  return (
    <li>
      <p className="quote">{belief.text}</p>
      <p className="facts">
        <Tag kind={belief.truth}>{belief.truth}</Tag>
        {last && (
          <span>
            {chance(last.start)} before, {chance(last.judged)} at the last exposure
          </span>
        )}
      </p>
      <details>
        <summary>Why</summary>
        {belief.sentences.slice(1).map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        <p className="note">In log odds. Prior (plausibility, and whose side the claim favors), sources (who shared it), reading (earlier exposures still in memory), label and note sum to the last column.</p>
        <div className="scroll" tabIndex={0} role="region" aria-label="Belief at each exposure">
          <table>
            <thead>
              <tr>
                <th scope="col">exposure</th>
                <th scope="col">by</th>
                <th scope="col">label shown</th>
                <th scope="col" className="num">probability</th>
                <th scope="col" className="num">prior</th>
                <th scope="col" className="num">sources</th>
                <th scope="col" className="num">reading</th>
                <th scope="col" className="num">label</th>
                <th scope="col" className="num">note</th>
                <th scope="col" className="num">sum, log odds</th>
              </tr>
            </thead>
            <tbody>
              {belief.meetings.map((meeting) => (
                <tr key={meeting.step}>
                  <td>{moment(meeting.step, hours, meeting.step)}</td>
                  <td>{meeting.by}</td>
                  <td>{meeting.shown_label}</td>
                  <td className="num">{chance(meeting.judged)}</td>
                  {PARTS.map((part) => (
                    <td className="num" key={part}>
                      {signed(meeting[part])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </li>
  );
}

function chance(logOdds: number): string {
  return percent(1 / (1 + Math.exp(-logOdds)));
}
