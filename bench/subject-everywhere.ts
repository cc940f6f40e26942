import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { adminSession, fileErasure } from '#lib/testing/due-day.ts'
import { sharedGraph } from '#lib/testing/graphs.ts'
import { type GraphServer, graphServers } from './graph-servers.ts'
import { type BenchInstallation, type Cluster, startCluster, startWorker } from './installation.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'

const LONGEST = 300
const [account, other] = ['usr_0000000000000000000one', 'usr_0000000000000000000two']
const project = 'prj_0000000000000000everywhere'

export interface SubjectSizes {
  conversations: number
  /** Messages of the person, each with its own episode. Another person has as many in the same conversations. */
  episodes: number
  /** Files of these messages. Another person has as many. */
  objects: number
}
export const fullSubjectSizes: SubjectSizes = { conversations: 200, episodes: 20_000, objects: 10_000 }

/** Two people who talk with each other in one project: every other message, episode and file is the person's. */
async function plantRows(
  { ownerUrl }: BenchInstallation,
  { conversations, episodes, objects }: SubjectSizes,
): Promise<string[]> {
  return withConnection(ownerUrl, async (owner) => {
    await owner.query('SET session_replication_role = replica; SET synchronous_commit = off')
    await owner.query(`INSERT INTO organisations (id, name, created_at) VALUES ('org_everywhere', 'Everywhere', now())`)
    await owner.query(
      `INSERT INTO accounts (id, organisation_id, email, name, role, password_hash, created_at, updated_at)
       SELECT id, 'org_everywhere', 'person' || n || '@example.org', 'Person ' || n, 'person', '-', now(), now()
       FROM unnest($1::text[]) WITH ORDINALITY AS p (id, n)`,
      [[account, other]],
    )
    await owner.query(
      `INSERT INTO projects (id, organisation_id, name, group_id, created_by, created_at, updated_at)
       VALUES ($1, 'org_everywhere', 'Everywhere', $1, $2, now(), now())`,
      [project, other],
    )
    await owner.query(
      `INSERT INTO project_members (project_id, kind, member_id, role, added_by, added_at)
       SELECT $1, 'account', id, CASE id WHEN $2 THEN 'owner' ELSE 'member' END::project_role, $2, now() FROM unnest($3::text[]) AS p (id)`,
      [project, other, [account, other]],
    )
    await owner.query(
      `INSERT INTO conversations (id, project_id, title, threads, created_by, created_at, updated_at)
       SELECT 'conv_every' || n, $1, 'Conversation ' || n, ARRAY['conv_every' || n], CASE n % 2 WHEN 0 THEN $3 ELSE $4 END, now(), now()
       FROM generate_series(1, $2::int) AS n`,
      [project, conversations, account, other],
    )
    // The n-th message has the n-th episode of the graph.
    await owner.query(
      `INSERT INTO messages (id, project_id, conversation_id, role, author_kind, author_id, content, created_at, updated_at)
       SELECT 'msg_every' || lpad(n::text, 7, '0'), $1, 'conv_every' || 1 + n / 2 % $2::int, 'user', 'account', CASE n % 2 WHEN 0 THEN $3 ELSE $4 END,
         'What was said, number ' || n || ', ' || md5(n::text), at, at
       FROM (SELECT n, now() - interval '100 days' + n * interval '1 minute' AS at FROM generate_series(0, 2 * $5::int - 1) AS n) AS s`,
      [project, conversations, account, other, episodes],
    )
    await owner.query(
      `INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, place, told_by, at)
       SELECT 'prov_' || id, $1, 'message', id, 'graph', md5(right(id, 7))::uuid::text, $1, 'user:' || author_id, created_at FROM messages`,
      [project],
    )
    const { rows } = await owner.query<{ key: string }>(
      `INSERT INTO attachments (id, message_id, name, media_type, bytes, sha256, object_key, created_at)
       SELECT 'att_' || m.id, m.id, 'notes.txt', 'text/plain', 12, sha256(m.id::bytea), 'projects/' || $1 || '/messages/' || m.id || '/att_' || m.id, m.created_at
       FROM (SELECT *, row_number() OVER (PARTITION BY author_id ORDER BY id) AS n FROM messages) AS m WHERE m.n <= $2 RETURNING object_key AS key`,
      [project, objects],
    )
    await owner.query('VACUUM (ANALYZE)')
    return rows.map(({ key }) => key)
  })
}

async function* someBytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('Some bytes.\n')
}
async function plantObjects({ env }: BenchInstallation, keys: readonly string[]): Promise<void> {
  const address = objectsAddress(undefined, env.KP_DATA_DIR ?? '')
  if (address.provider !== 'files') throw new Error('files lie in a folder by default')
  const store = fileObjects(address.folder)
  const waiting = keys.values()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const key of waiting) await store.put(key, someBytes(), { mediaType: 'text/plain' })
    }),
  )
  await store.close()
}

const left = `SELECT (SELECT count(*) FROM messages WHERE author_id = $1)::int AS own, (SELECT count(*) FROM messages)::int AS messages,
  (SELECT count(*) FROM attachments)::int AS objects, (SELECT count(*) FROM erasures WHERE deleted_id = $1 AND state = 'signed')::int AS receipts`

async function measureStore(
  scope: AsyncDisposableStack,
  cluster: Cluster,
  { name, env: more, planting: open, settle }: GraphServer,
  sizes: SubjectSizes,
): Promise<BenchRow> {
  const opened = await cluster.open(name.toLowerCase())
  const installation = { ...opened, env: { ...opened.env, ...more } }
  const keys = await plantRows(installation, sizes)
  await plantObjects(installation, keys)
  const { planting, close } = open(installation.appUrl)
  scope.defer(close)
  const graph = sharedGraph(project, {
    episodes: sizes.episodes * 2,
    entities: sizes.episodes * 2,
    facts: sizes.episodes * 4,
    hasUuids: true,
  })
  const planted = performance.now()
  await planting.plant(graph)
  await settle()
  await withConnection(installation.ownerUrl, (owner) => owner.query('VACUUM (ANALYZE)'))
  console.log(`  ${name}: planted in ${Math.round((performance.now() - planted) / 1000)} s`)

  const app = createApp({ env: readEnv({ ...installation.env, NODE_ENV: 'production' }) })
  scope.defer(() => app.close())
  const cookie = await adminSession(app)
  const worker = await startWorker(scope, installation.env)
  const started = performance.now()
  const id = await fileErasure(app, cookie, account, 'now')
  const state = async () => (await app.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })).state
  for (let now = await state(); now !== 'completed'; now = await state()) {
    const seconds = Math.round((performance.now() - started) / 1000)
    if (now === 'failed' || seconds > 1_800) throw new Error(`the request is ${now} after ${seconds} s`)
    await delay(200)
  }
  const took = (performance.now() - started) / 1000
  const ended = once(worker, 'exit')
  worker.kill('SIGTERM')
  await ended

  const steps = await app.db.prisma.erasureStep.findMany({
    where: { run: { requestId: id } },
    orderBy: { startedAt: 'asc' },
  })
  for (const { holder, planned, startedAt, finishedAt } of steps)
    if (planned > 0 && startedAt && finishedAt)
      console.log(`  ${holder}: ${planned} in ${Math.round((finishedAt.getTime() - startedAt.getTime()) / 1000)} s`)
  const [rows] = await app.db.query<{ own: number; messages: number; objects: number; receipts: number }>(
    undefined,
    left,
    [account],
  )
  const standing = await planting.standing(project)
  const isAsPlanned =
    rows?.own === 0 &&
    rows.messages === sizes.episodes &&
    rows.objects === sizes.objects &&
    rows.receipts === 1 &&
    standing.episodes.length === sizes.episodes
  if (!isAsPlanned)
    throw new Error(`left: ${JSON.stringify(rows)}, and ${standing.episodes.length} episodes in the graph`)
  const what = `${sizes.conversations.toLocaleString('en')} conversations, ${sizes.episodes.toLocaleString('en')} episodes and ${sizes.objects.toLocaleString('en')} files`
  return {
    name: `${name}: a person with ${what} amid as much of somebody else's: from the request to erased and verified`,
    value: took,
    unit: 's',
    bar: `under ${LONGEST} s`,
    met: took < LONGEST,
  }
}

/** The erasure of a person with data in every store, filed by an admin and carried out by a worker, with each kind of graph store. */
export const run = (): Promise<BenchRow[]> => withScope((scope) => measure(scope, fullSubjectSizes))

export async function measure(scope: AsyncDisposableStack, sizes: SubjectSizes): Promise<BenchRow[]> {
  const cluster = await startCluster(scope)
  const rows: BenchRow[] = []
  for await (const server of graphServers(scope))
    rows.push(await withScope((inner) => measureStore(inner, cluster, server, sizes)))
  return rows
}
