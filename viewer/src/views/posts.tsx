// All posts, those that moved most people to do something first.
import { useEffect, type JSX } from "react";
import { useAnswer, type Page, type PostRow } from "../api";
import { plural } from "../format";
import { Answered, Choice, Find, Pager, Section, Tag, Truth, type ViewProperties } from "../parts";
import { link } from "../route";

const ORDERS: [string, string][] = [
  ["engagement", "most engagement"],
  ["flags", "most flags"],
  ["step", "oldest"],
];
const KINDS: [string, string][] = [
  ["", "all"],
  ["true", "true"],
  ["false", "false"],
  ["unknown", "unknown"],
];

export function Posts({ head, route, fresh }: ViewProperties): JSX.Element {
  const { query } = route;
  const asked = {
    run: head.id,
    sort: query.get("sort") ?? "engagement",
    veracity: query.get("veracity") ?? "",
    find: query.get("find") ?? "",
    from: query.get("from"),
  };
  const page = useAnswer<Page<PostRow>>("/api/posts", asked, fresh);
  useEffect(() => {
    document.title = `Posts · ${head.id} · Townsquare`;
  }, [head.id]);
  return (
    <>
      <div className="controls">
        <Choice label="Order" name="sort" value={asked.sort} of={ORDERS} />
        <Choice label="Truth" name="veracity" value={asked.veracity} of={KINDS} />
        <Find label="Find in text" value={asked.find} />
      </div>
      <Section title="Posts" wide csv={{ name: "posts", query: { ...asked, from: null } }}>
        <Answered of={page}>
          {(page) => (
            <>
              <ul className="posts" data-testid="posts">
                {page.rows.map((row) => (
                  <Row key={row.root} row={row} run={head.id} />
                ))}
              </ul>
              {!page.total && <p>No post matches.</p>}
              <Pager {...page} />
            </>
          )}
        </Answered>
      </Section>
    </>
  );
}

function Row({ row, run }: { row: PostRow; run: string }): JSX.Element {
  return (
    <li>
      <a className="post-text" href={link(run, "post", row.root)}>
        {row.content || "(no text)"}
      </a>
      <p className="facts">
        <span>{row.who}</span>
        <span>step {row.step}</span>
        <Truth veracity={row.veracity} />
        {row.verdict && <Tag kind="label">verdict: {row.verdict}</Tag>}
        {row.noted && <Tag kind="label">note</Tag>}
        {row.taken_down && <Tag kind="gone">taken down</Tag>}
        <span>{plural(row.likes, "like")}</span>
        <span>{plural(row.dislikes, "dislike")}</span>
        <span>{plural(row.shares, "share")}</span>
        <span>{plural(row.comments, "comment")}</span>
        {row.flags > 0 && <span>{plural(row.flags, "flag")}</span>}
      </p>
    </li>
  );
}
