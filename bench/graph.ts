import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type App, createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { adminSession } from '#lib/testing/due-day.ts'
import { sharedGraph } from '#lib/testing/graphs.ts'
import { type GraphServer, graphServers } from './graph-servers.ts'
import { type BenchInstallation, type Cluster, startCluster } from './installation.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'

const MOST = 3

export interface GraphSizes {
  /** Entities of the small and of the large graph. Each has ten facts and half an episode, so that an episode touches as much in both. */
  small: number
  large: number
  /** Messages to erase, alternately from small graphs and from the large one, and uncounted ones to warm up. */
  messages: number
  warm: number
}
export const fullGraphSizes: GraphSizes = { small: 1_000, large: 100_000, messages: 11, warm: 2 }

interface Planted {
  project: string
  /** Messages, each with one episode of the project's graph. */
  messages: string[]
}

const graphOf = (project: string, entities: number, seed: number) =>
  sharedGraph(project, { episodes: Math.ceil(entities / 2), entities, facts: entities * 10, seed })

/** Creates a project of the account with a conversation and messages, each with a pointer to one of these episodes. */
async function plantProject(
  { ownerUrl }: BenchInstallation,
  account: string,
  project: string,
  episodes: readonly string[],
): Promise<Planted> {
  return withConnection(ownerUrl, async (owner) => {
    const conversation = `conv_${project}`
    await owner.query('SET session_replication_role = replica')
    await owner.query(
      `WITH p AS (INSERT INTO projects (id, organisation_id, name, group_id, created_by, created_at, updated_at)
           SELECT $1, organisation_id, 'A project', $1, id, now(), now() FROM accounts WHERE id = $2),
         m AS (INSERT INTO project_members (project_id, kind, member_id, role, added_by, added_at) VALUES ($1, 'account', $2, 'owner', $2, now()))
       INSERT INTO conversations (id, project_id, title, threads, created_by, created_at, updated_at) VALUES ($3, $1, 'A conversation', ARRAY[$3], $2, now(), now())`,
      [project, account, conversation],
    )
    const { rows } = await owner.query<{ id: string }>(
      `WITH e AS (SELECT episode, 'msg_' || episode AS id FROM unnest($4::text[]) AS e (episode)),
         m AS (INSERT INTO messages (id, project_id, conversation_id, role, author_kind, author_id, content, created_at, updated_at)
           SELECT id, $1, $3, 'user', 'account', $2, 'What was said for ' || episode, now(), now() FROM e),
         v AS (INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, place, told_by, at)
           SELECT 'prov_' || episode, $1, 'message', id, 'graph', episode, $1, 'user:' || $2, now() FROM e)
       SELECT id FROM e`,
      [project, account, conversation, episodes],
    )
    return { project, messages: rows.map(({ id }) => id) }
  })
}

const open = ['planning', 'erasing', 'verifying'] as const
const Answer = z.object({ auditId: z.string() })

/** Milliseconds from the request to erase a message to its receipt: planned, erased, verified and signed. */
async function erase(app: App, cookie: string, { project }: Planted, message: string): Promise<number> {
  const operation = app.useCases.find((one) => one.operation.id === 'eraseMessage')
  if (!operation) throw new Error('messages cannot be erased')
  const params = { projectId: project, conversationId: `conv_${project}`, messageId: message }
  const started = performance.now()
  const { auditId } = Answer.parse(await app.asPerson(cookie, operation, { params }))
  // A job in this process continues an erasure that takes longer than the 15 seconds that a request waits.
  while ((await app.db.prisma.erasureRun.count({ where: { state: { in: [...open] } } })) > 0) await delay(20)
  const took = performance.now() - started
  const run = await app.db.prisma.erasureRun.findFirstOrThrow({ where: { auditId }, include: { steps: true } })
  const inGraph = run.steps.find(({ holder }) => holder === 'graph.episodes')
  if (run.state !== 'done' || inGraph?.erased !== 1) throw new Error(`the erasure of ${message} is ${run.state}`)
  return took
}

/** Erases messages alternately from small graphs and the large graph of one store, so that both have the same machine load. */
async function measureStore(
  scope: AsyncDisposableStack,
  cluster: Cluster,
  { name, env, planting: open, settle }: GraphServer,
  { small, large, messages, warm }: GraphSizes,
): Promise<BenchRow> {
  const opened = await cluster.open(`graph-${name.toLowerCase()}`)
  const installation = { ...opened, env: { ...opened.env, ...env } }
  const app = createApp({ env: readEnv({ ...installation.env, NODE_ENV: 'production' }) })
  scope.defer(() => app.close())
  const cookie = await adminSession(app)
  const { id: account } = await app.db.prisma.account.findFirstOrThrow({ where: { email: 'admin@example.org' } })

  const { planting, close } = open(installation.appUrl)
  scope.defer(close)
  const started = performance.now()
  const plant = async (project: string, entities: number, seed: number, count: number): Promise<Planted> => {
    const graph = graphOf(project, entities, seed)
    await planting.plant(graph)
    const step = Math.floor(graph.episodes.length / (count + 1))
    const episodes = Array.from({ length: count }, (_, n) => graph.episodes[(n + 1) * step]?.uuid ?? '')
    return plantProject(installation, account, project, episodes)
  }
  const littles: Planted[] = []
  for (let n = 0; n < messages + warm; n++) littles.push(await plant(`small${n}`, small, n + 2, 1))
  const much = await plant('large', large, 1, messages + warm)
  // Maintenance that a server does in the course of a day.
  await withConnection(installation.ownerUrl, (owner) => owner.query('VACUUM (ANALYZE)'))
  await settle()
  console.log(`  ${name}: planted in ${Math.round((performance.now() - started) / 1000)} s`)

  const took: { little: number[]; much: number[] } = { little: [], much: [] }
  for (const [n, little] of littles.entries()) {
    const one = await erase(app, cookie, little, little.messages[0] ?? '')
    const other = await erase(app, cookie, much, much.messages[n] ?? '')
    if (n < warm) continue
    took.little.push(one)
    took.much.push(other)
  }
  const [beside, value] = [median(took.little), median(took.much)]
  console.log(`  ${name}: ${Math.round(value)} ms of the large graph, ${Math.round(beside)} ms of a small one`)
  const facts = (large * 10).toLocaleString('en')
  return {
    name: `${name}: one message erased and verified in every store, its graph with ${large.toLocaleString('en')} entities and ${facts} facts, median of ${messages}`,
    value,
    unit: 'ms',
    ceiling: { name: `with ${small.toLocaleString('en')} entities`, value: beside },
    bar: `at most ${MOST} ×`,
    met: value <= MOST * beside,
  }
}

export const run = (): Promise<BenchRow[]> => withScope((scope) => measure(scope, fullGraphSizes))

export async function measure(scope: AsyncDisposableStack, sizes: GraphSizes): Promise<BenchRow[]> {
  const cluster = await startCluster(scope)
  const rows: BenchRow[] = []
  for await (const server of graphServers(scope))
    rows.push(await withScope((inner) => measureStore(inner, cluster, server, sizes)))
  return rows
}
