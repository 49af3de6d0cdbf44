-- The views of MOSAIC's appendix D. A heading gives the name of a view and says what one row of it is. `views.py` fills in
-- the placeholders in braces: numbers of code words, and what SQLite and PostgreSQL write differently. {day:STEP} is the
-- time of a step.

-- view users: an account (person or source)
WITH received AS (
  SELECT p.author AS agent, count(*) FILTER (WHERE a.kind = {ActionKind.LIKE}) AS likes,
    count(*) FILTER (WHERE a.kind = {ActionKind.SHARE}) AS shares,
    count(*) FILTER (WHERE a.kind = {ActionKind.COMMENT}) AS comments
  FROM ts_actions a JOIN ts_posts p ON p.post = a.target
  WHERE a.status = {ActionStatus.ACCEPTED} AND a.kind IN ({ActionKind.LIKE}, {ActionKind.SHARE}, {ActionKind.COMMENT})
  GROUP BY p.author
), followed AS (
  SELECT followed AS agent, count(*) AS followers
  FROM (SELECT followed FROM ts_follows GROUP BY follower, followed HAVING sum(change) > 0) still GROUP BY followed
), answered AS (
  SELECT agent, {persona} AS persona, {labels} AS labels
  FROM (
    SELECT t.agent, t.trait, t.value, v.label, v.answer FROM ts_traits t
    JOIN ts_trait_values v ON v.trait = t.trait AND v.value = t.value ORDER BY t.agent, t.trait
  ) given GROUP BY agent
), counted AS MATERIALIZED (
  SELECT a.agent, a.kind, a.born, a.name, coalesce(f.followers, 0) AS followers, coalesce(r.likes, 0) AS likes,
    coalesce(r.shares, 0) AS shares, coalesce(r.comments, 0) AS comments
  FROM ts_agents a LEFT JOIN followed f ON f.agent = a.agent LEFT JOIN received r ON r.agent = a.agent
), most AS (
  SELECT max(followers) AS followers, max(likes) AS likes, max(shares) AS shares, max(comments) AS comments
  FROM counted
), scored AS MATERIALIZED (
  SELECT c.*, CAST(round({influence}, 3) AS DOUBLE PRECISION) AS influence
  FROM counted c, most m
)
SELECT 'user-' || c.agent AS user_id,
  CASE c.kind WHEN {AgentKind.SOURCE} THEN n.content ELSE t.persona END AS persona,
  coalesce(t.labels, '{{}}') AS background_labels, {day:c.born} AS creation_time,
  c.followers AS follower_count, c.likes AS total_likes_received, c.shares AS total_shares_received,
  c.comments AS total_comments_received, c.influence AS influence_score,
  c.influence > {influencer_above} AS is_influencer,
  {day:(SELECT max(step) FROM ts_steps)} AS last_influence_update
FROM scored c LEFT JOIN answered t ON t.agent = c.agent LEFT JOIN ts_texts n ON n.text = c.name

-- view posts: a post that is not a comment
WITH counts AS (
  SELECT target AS post, count(*) FILTER (WHERE kind = {ActionKind.LIKE}) AS likes,
    count(*) FILTER (WHERE kind = {ActionKind.SHARE}) AS shares,
    count(*) FILTER (WHERE kind = {ActionKind.FLAG}) AS flags,
    count(*) FILTER (WHERE kind = {ActionKind.COMMENT}) AS comments
  FROM ts_actions
  WHERE status = {ActionStatus.ACCEPTED}
    AND kind IN ({ActionKind.LIKE}, {ActionKind.SHARE}, {ActionKind.FLAG}, {ActionKind.COMMENT})
  GROUP BY target
), gone AS (
  SELECT post, step, reason FROM ts_moderation_log
  WHERE rowid IN (SELECT min(rowid) FROM ts_moderation_log WHERE kind = {LogKind.TAKEDOWN} GROUP BY post)
), checked AS (
  SELECT post, step, verdict FROM ts_verdicts WHERE rowid IN (SELECT max(rowid) FROM ts_verdicts GROUP BY post)
)
SELECT 'post-' || p.post AS post_id, t.content, 'user-' || p.author AS author_id, {day:p.step} AS created_at,
  coalesce(c.likes, 0) AS num_likes, coalesce(c.shares, 0) AS num_shares,
  coalesce(c.flags, 0) AS num_flags, coalesce(c.comments, 0) AS num_comments,
  CASE p.kind WHEN {PostKind.SHARE} THEN 'post-' || p.parent END AS original_post_id,
  p.kind = {PostKind.INJECTED} AS is_news,
  CASE p.kind WHEN {PostKind.INJECTED} THEN CASE p.veracity {news_types} END END AS news_type,
  CASE WHEN g.post IS NULL THEN 'active' ELSE 'taken_down' END AS status,
  {day:g.step} AS takedown_timestamp, g.reason AS takedown_reason,
  nullif(CASE v.verdict {verdicts} END, 'none') AS fact_check_status, {day:v.step} AS fact_checked_at
FROM ts_posts p LEFT JOIN counts c ON c.post = p.post LEFT JOIN gone g ON g.post = p.root
  LEFT JOIN checked v ON v.post = p.post LEFT JOIN ts_texts t ON t.text = p.text
WHERE p.kind <> {PostKind.COMMENT}

-- view follows: a follow still in force
SELECT 'user-' || follower AS follower_id, 'user-' || followed AS followed_id,
  {day:max(CASE WHEN change > 0 THEN step END)} AS created_at
FROM ts_follows GROUP BY follower, followed HAVING sum(change) > 0

-- view user_actions: an accepted action
SELECT a.rowid AS id, 'user-' || a.agent AS user_id, CASE a.kind {action_words} END AS action_type,
  CASE
    WHEN a.kind IN ({on_post}) THEN 'post-' || a.target
    WHEN a.kind IN ({on_comment}) THEN 'comment-' || a.target
    WHEN a.kind IN ({on_item}) THEN {item}
    WHEN a.kind IN ({on_author}) THEN 'user-' || a.target
    WHEN a.kind IN ({on_note}) THEN 'note-' || a.target
    WHEN a.kind = {ActionKind.POST} THEN 'post-' || a.result
  END AS target_id,
  t.content, r.content AS reasoning, {day:a.step} AS created_at
FROM ts_actions a LEFT JOIN ts_posts p ON p.post = a.target
  LEFT JOIN ts_texts t ON t.text = a.text LEFT JOIN ts_texts r ON r.text = a.reasoning
WHERE a.status = {ActionStatus.ACCEPTED}

-- view comments: a comment
WITH liked AS (
  SELECT target AS post, count(*) AS likes FROM ts_actions
  WHERE status = {ActionStatus.ACCEPTED} AND kind = {ActionKind.LIKE_COMMENT} GROUP BY target
)
SELECT 'comment-' || p.post AS comment_id, t.content, 'post-' || p.parent AS post_id,
  'user-' || p.author AS author_id, {day:p.step} AS created_at, coalesce(l.likes, 0) AS num_likes
FROM ts_posts p LEFT JOIN liked l ON l.post = p.post LEFT JOIN ts_texts t ON t.text = p.text
WHERE p.kind = {PostKind.COMMENT}

-- view community_notes: a note, whatever its status (also one found not helpful)
WITH rated AS (
  SELECT note, sum(helpful) AS helpful, sum(CASE WHEN rating = 0.5 THEN 0 ELSE 1 - helpful END) AS not_helpful
  FROM ts_note_ratings GROUP BY note
)
SELECT 'note-' || n.note AS note_id, 'post-' || n.post AS post_id,
  CASE WHEN n.author >= 0 THEN 'user-' || n.author END AS author_id,
  t.content, coalesce(r.helpful, 0) AS helpful_ratings,
  coalesce(r.not_helpful, 0) AS not_helpful_ratings, {day:n.step} AS created_at
FROM ts_notes n LEFT JOIN rated r ON r.note = n.note LEFT JOIN ts_texts t ON t.text = n.text

-- view note_ratings: a rating
SELECT 'note-' || note AS note_id, 'user-' || agent AS user_id,
  CASE WHEN rating = 0.5 THEN 'somewhat_helpful' WHEN helpful = 0 THEN 'not_helpful' ELSE 'helpful' END AS rating,
  {day:step} AS created_at
FROM ts_note_ratings

-- view moderation_logs: an action of a moderator
SELECT l.rowid AS log_id, {item} AS post_id, CASE l.kind {log_kinds} END AS action_type, l.reason,
  {day:l.step} AS timestamp
FROM ts_moderation_log l LEFT JOIN ts_posts p ON p.post = l.post

-- view fact_checks: the current verdict on a post
SELECT 'post-' || v.post AS post_id, 'fact-checker' AS checker_id, CASE v.verdict {verdicts} END AS verdict,
  coalesce(e.content, '') AS explanation, v.confidence,
  CASE WHEN s.text IS NULL THEN '[]' ELSE {sources} END AS sources,
  CASE v.veracity {news_types} END AS groundtruth, {day:v.step} AS created_at
FROM ts_verdicts v LEFT JOIN ts_texts e ON e.text = v.explanation LEFT JOIN ts_texts s ON s.text = v.sources
WHERE v.verdict <> {Verdict.NONE} AND v.rowid IN (SELECT max(rowid) FROM ts_verdicts GROUP BY post)

-- view agent_memories: a memory of an agent; empty if agents have no memory (`memory.enabled`)
WITH accessed AS MATERIALIZED (
  SELECT memory, step, decay FROM ts_memory_accesses
  WHERE rowid IN (SELECT max(rowid) FROM ts_memory_accesses GROUP BY memory)
)
SELECT 'memory-' || m.memory AS memory_id, 'user-' || m.agent AS user_id,
  CASE m.kind {memory_kinds} END AS memory_type, coalesce(c.content, '') AS content,
  m.importance AS importance_score, {day:m.step} AS created_at,
  {day:coalesce(a.step, m.step)} AS last_accessed, coalesce(a.decay, 1.0) AS decay_factor
FROM ts_agent_memories m LEFT JOIN ts_texts c ON c.text = m.text LEFT JOIN accessed a ON a.memory = m.memory

-- view spread_metrics: a post (no shares, no comments) and a step, from the step of the post on
WITH RECURSIVE happened AS (
  SELECT target AS root, kind, agent, step FROM ts_actions
  WHERE status = {ActionStatus.ACCEPTED} AND kind IN ({spread_kinds})
  UNION ALL
  SELECT n.post, {ActionKind.RATE_NOTE}, r.agent, r.step
  FROM ts_note_ratings r JOIN ts_notes n ON n.note = r.note
  UNION ALL
  SELECT root, -1, agent, step FROM ts_exposures WHERE under < 0
), firsts AS (
  SELECT root, kind, min(step) AS step FROM happened GROUP BY root, kind, agent
), chains AS (
  SELECT post, post AS root, step, 0 AS depth FROM ts_posts WHERE kind IN ({roots})
  UNION ALL
  SELECT s.post, c.root, s.step, c.depth + 1 FROM chains c JOIN ts_posts s ON s.parent = c.post
  WHERE s.kind = {PostKind.SHARE}
), new AS MATERIALIZED (
  SELECT root, step, count(*) FILTER (WHERE kind = -1) AS views, {spread_counts}, 0 AS depth
  FROM firsts GROUP BY root, step
), deeper AS MATERIALIZED (
  SELECT root, step, max(depth) AS depth FROM chains GROUP BY root, step
), gone AS MATERIALIZED (
  SELECT post, step, reason FROM ts_moderation_log
  WHERE rowid IN (SELECT min(rowid) FROM ts_moderation_log WHERE kind = {LogKind.TAKEDOWN} GROUP BY post)
), far AS (
  SELECT p.post, s.step, max(coalesce(d.depth, 0)) OVER so_far AS diffusion_depth,
    CAST(sum(coalesce(n.views, 0)) OVER so_far AS BIGINT) AS views, {spread_sums}
  FROM ts_posts p JOIN ts_steps s ON s.step >= p.step
    LEFT JOIN new n ON n.root = p.post AND n.step = s.step
    LEFT JOIN deeper d ON d.root = p.post AND d.step = s.step
  WHERE p.kind IN ({roots})
  WINDOW so_far AS (PARTITION BY p.post ORDER BY s.step)
)
SELECT 'post-' || f.post AS post_id, f.step AS time_step, f.views, f.diffusion_depth, {spread_names},
  {spread_total} AS total_interactions, g.post IS NOT NULL AS should_takedown, g.reason AS takedown_reason,
  g.post IS NOT NULL AS takedown_executed, {day:f.step} AS created_at
FROM far f LEFT JOIN gone g ON g.post = f.post AND g.step <= f.step

-- view feed_exposures: a post that an agent was shown and examined in a step, whether or not it acted on it; comments are left out
SELECT 'user-' || agent AS user_id, 'post-' || post AS post_id, step AS time_step, {day:step} AS created_at
FROM ts_exposures WHERE under < 0
