import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { nodeFlags, startChild } from '#bin/children.ts'
import { prepareInstallation } from '#lib/platform/installation.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { attempt, type LoadAttempt } from './attempt.ts'
import { childrenOf } from './cpu.ts'
import { contributeTarget, registerBenchAgent } from './installation.ts'
import { type BenchRow, noneRow } from './row.ts'
import { withScope } from './scope.ts'
import { answers, freeBenchPort, startServer } from './server.ts'

const SECOND = 1_000
/** How often the primary is killed with synchronous replication, and then with asynchronous replication. */
const KILLS = Number(process.env.FAILOVER_KILLS ?? 20)
const ASYNCHRONOUS_KILLS = Number(process.env.FAILOVER_ASYNCHRONOUS_KILLS ?? 5)
/** How far an asynchronous standby is behind when the primary is killed. */
const BEHIND = SECOND
/** Requests per second: the bar's, or fewer on a small or busy machine. */
const PER_SECOND = Number(process.env.FAILOVER_RATE ?? 200)
/** The duration of the load before a kill, and after the first acknowledged write. */
const QUIET = 3 * SECOND
/** The bar: seconds until writes are acknowledged again. */
const BACK = 15
const PATIENCE = 120 * SECOND
const binaries = '/usr/lib/postgresql/15/bin'
const secret = 'only for the databases of one measurement'
const programs = ['patroni', 'etcd', 'haproxy', 'pgbouncer', 'setpriv']

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)))

/** Starts a program with the scope, as another user if this one is root: PostgreSQL and PgBouncer refuse root. */
function start(
  scope: AsyncDisposableStack,
  command: readonly string[],
  isOther = false,
  settings: Record<string, string> = {},
): ChildProcess {
  const isRoot = process.getuid?.() === 0
  const asOther = isOther && isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  const [program = '', ...args] = [...asOther, ...command]
  const { PATH = '' } = process.env
  const child = spawn(program, args, {
    stdio: 'ignore',
    env: { PATH, HOME: tmpdir(), LC_ALL: 'C.UTF-8', NODE_ENV: 'production', ...settings },
  })
  const exited = once(child, 'exit')
  scope.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await Promise.race([exited, delay(10 * SECOND, undefined, { ref: false })])
    child.kill('SIGKILL')
  })
  return child
}

interface DatabaseNode {
  name: string
  port: number
  rest: number
  dataFolder: string
  /** How an asynchronous standby reaches this server. */
  replication: TcpProxy | undefined
  /** Starts Patroni, which starts PostgreSQL and joins the cluster. */
  start(): Promise<void>
  /** Kills Patroni and PostgreSQL at once, as when the machine loses its power. */
  kill(): void
}

/** Two servers that replicate, led by Patroni with etcd. Its times are the shortest that it allows for. */
async function startPatroni(
  scope: AsyncDisposableStack,
  home: string,
  isSynchronous: boolean,
): Promise<DatabaseNode[]> {
  const [client, peer] = [await freeBenchPort(), await freeBenchPort()]
  const etcdUrls = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`]
  start(scope, [
    'etcd',
    ...['--data-dir', join(home, 'etcd'), '--initial-cluster', `default=${etcdUrls[1]}`],
    ...['--listen-client-urls', String(etcdUrls[0]), '--advertise-client-urls', String(etcdUrls[0])],
    ...['--listen-peer-urls', String(etcdUrls[1]), '--initial-advertise-peer-urls', String(etcdUrls[1])],
  ])
  await answers(`${etcdUrls[0]}/health`, () => false)
  const nodes: DatabaseNode[] = []
  for (const name of ['a', 'b']) {
    const [port, rest] = [await freeBenchPort(), await freeBenchPort()]
    const replication = isSynchronous ? undefined : await tcpProxy(`tcp://127.0.0.1:${port}`)
    if (replication) scope.defer(() => replication.close())
    const folder = join(home, name)
    const dataFolder = join(folder, 'data')
    mkdirSync(folder)
    const config = join(folder, 'patroni.json')
    const user = (username: string) => ({ username, password: 'bench' })
    writeFileSync(
      config,
      JSON.stringify({
        scope: 'kp',
        name,
        restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
        etcd3: { host: `127.0.0.1:${client}` },
        bootstrap: {
          dcs: {
            ttl: 8,
            loop_wait: 1,
            retry_timeout: 3,
            master_start_timeout: 0,
            synchronous_mode: isSynchronous,
            maximum_lag_on_failover: 1_000_000_000,
            postgresql: { use_pg_rewind: true, parameters: { wal_log_hints: 'on', max_connections: 120 } },
          },
          initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
        },
        postgresql: {
          listen: `127.0.0.1:${port}`,
          connect_address: replication ? new URL(replication.url).host : `127.0.0.1:${port}`,
          data_dir: dataFolder,
          bin_dir: binaries,
          pgpass: join(folder, 'pgpass'),
          pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
          authentication: {
            superuser: user('postgres'),
            replication: user('replicator'),
            rewind: user('rewinder'),
          },
          parameters: { unix_socket_directories: folder },
        },
      }),
    )
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres:postgres', folder])
    let patroni: ChildProcess | undefined
    nodes.push({
      name,
      port,
      rest,
      dataFolder,
      replication,
      start: async () => {
        await replication?.restore()
        replication?.thaw()
        patroni = start(scope, ['patroni', config], true)
      },
      kill: () => {
        replication?.cut()
        patroni?.kill('SIGKILL')
        const postmaster = Number(readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n')[0])
        for (const pid of [postmaster, ...childrenOf(postmaster)]) {
          try {
            process.kill(pid, 'SIGKILL')
          } catch {
            // It ended before.
          }
        }
      },
    })
    await nodes.at(-1)?.start()
    if (name === 'a') await answers(`http://127.0.0.1:${rest}/primary`, () => false, PATIENCE)
  }
  return nodes
}

const Members = z.object({ members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string() })) })
/** The primary, once the other server replicates. */
async function healthyPrimary(nodes: readonly DatabaseNode[], isSynchronous: boolean): Promise<DatabaseNode> {
  /** Patroni before 3.0.3 has one word for both. */
  const states = ['streaming', 'running']
  const follows = isSynchronous ? 'sync_standby' : 'replica'
  for (const giveUp = performance.now() + PATIENCE; performance.now() < giveUp; await delay(200)) {
    for (const { rest } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${rest}/cluster`).catch(() => undefined)
      if (!answer?.ok) continue
      const { members } = Members.parse(await answer.json())
      const primary = nodes.find(({ name }) => members.some((one) => one.name === name && one.role === 'leader'))
      if (primary && members.some(({ role, state }) => role === follows && states.includes(state))) return primary
    }
  }
  throw new Error('the cluster did not become healthy again')
}

/** HAProxy in front of the databases and of the servers, and PgBouncer in front of its database port. */
async function startProxies(scope: AsyncDisposableStack, home: string, nodes: readonly DatabaseNode[], web: number[]) {
  const [primary, site, pooler] = [await freeBenchPort(), await freeBenchPort(), await freeBenchPort()]
  const haproxy = join(home, 'haproxy.cfg')
  writeFileSync(
    haproxy,
    `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen primary
  bind 127.0.0.1:${primary}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port, rest }) => `  server ${name} 127.0.0.1:${port} check port ${rest}`).join('\n')}
listen site
  mode http
  bind 127.0.0.1:${site}
  balance roundrobin
${web.map((port) => `  server web${port} 127.0.0.1:${port}`).join('\n')}
`,
  )
  start(scope, ['haproxy', '-f', haproxy])
  const ini = join(home, 'pgbouncer.ini')
  writeFileSync(join(home, 'users.txt'), '"kp_app" "bench"\n')
  writeFileSync(
    ini,
    `[databases]
kp = host=127.0.0.1 port=${primary} dbname=kp connect_query='SET statement_timeout = 15000; SET lock_timeout = 14000'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${pooler}
unix_socket_dir =
auth_type = plain
auth_file = ${join(home, 'users.txt')}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
server_login_retry = 1
server_connect_timeout = 2
query_wait_timeout = 5
`,
  )
  chmodSync(home, 0o755)
  start(scope, ['pgbouncer', ini], true)
  const at = (user: string, port: number, database = 'kp') => `postgresql://${user}:bench@127.0.0.1:${port}/${database}`
  return { site: `http://127.0.0.1:${site}`, at, primary, pooler }
}

/** Resolves when the proxies have started and found the primary. HAProxy sends connections to both servers until its first checks. */
async function reachable(url: string): Promise<void> {
  let found = 0
  for (const giveUp = performance.now() + PATIENCE; ; await delay(200)) {
    const failure = await withConnection(url, async (client) => {
      const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
      return rows[0]?.standby === false ? undefined : new Error('the proxy leads to the standby')
    }).catch((error: unknown) => error)
    found = failure === undefined ? found + 1 : 0
    if (found >= 10) return
    if (performance.now() > giveUp) throw failure
  }
}

interface Written {
  created: Set<string>
  /** Units whose erasure was acknowledged. */
  erased: Set<string>
  /** Whose erasure was requested; without its acknowledgement it may have happened or not. */
  requested: Set<string>
  attempts: (LoadAttempt & { isWrite: boolean; isErasure: boolean; isRight: boolean })[]
  /** Units that were read although their erasure had been acknowledged, and when. */
  served: { id: string; at: number }[]
}
const Created = z.object({ data: z.object({ id: z.string() }) })

/** Sends requests at a fixed rate: 6 of 10 contribute, 2 erase what was acknowledged, 1 reads a unit and 1 an erased unit. */
async function load(
  url: string,
  agent: { id: string; token: string; unitId: string },
  written: Written,
  over: AbortSignal,
) {
  const client = new Agent({ keepAlive: true, maxSockets: 300 })
  const contribute = contributeTarget(url, agent)
  const headers = { Authorization: `Bearer ${agent.token}` }
  const open: string[] = []
  const running = new Set<Promise<void>>()
  /** The units erased last, which a failover may bring back. */
  const recent: string[] = []
  const one = async (number: number) => {
    const kind = number % 10
    const erases = kind === 3 || kind === 8 ? open.shift() : undefined
    const gone = kind === 4 ? recent[number % recent.length] : undefined
    const isWrite = erases !== undefined || kind % 5 < 3
    if (erases !== undefined) written.requested.add(erases)
    const made = await attempt(
      client,
      erases !== undefined
        ? { url: `${url}/v1/knowledge/${erases}`, method: 'DELETE', headers }
        : isWrite
          ? contribute
          : { url: `${url}/v1/knowledge/${gone ?? agent.unitId}`, method: 'GET', headers },
    )
    const isSuccess = made.status >= 200 && made.status < 300
    if (gone !== undefined && isSuccess) written.served.push({ id: gone, at: made.began })
    const isRight = gone === undefined ? isSuccess : made.status === 404 || made.status === 410
    written.attempts.push({ ...made, isWrite, isErasure: erases !== undefined, isRight })
    if (erases !== undefined && isSuccess) {
      written.erased.add(erases)
      recent.unshift(erases)
      recent.length = Math.min(recent.length, PER_SECOND)
    }
    if (erases === undefined && isWrite && made.status === 201) {
      const { id } = Created.parse(JSON.parse(made.body)).data
      written.created.add(id)
      open.push(id)
    }
  }
  const began = performance.now()
  for (let number = 0; !over.aborted; number++) {
    const due = began + (number * SECOND) / PER_SECOND
    await delay(Math.max(0, due - performance.now()))
    const request = one(number).finally(() => running.delete(request))
    running.add(request)
  }
  await Promise.all(running)
  client.destroy()
}

/** The primary of a cluster is killed again and again under load; another server takes over. */
export async function run(): Promise<BenchRow[]> {
  const missing = programs.filter((program) => !isInstalled(program))
  if (missing.length > 0 || !existsSync(binaries))
    throw new Error(`install ${[...missing, 'postgresql-15'].join(', ')} for this group`)
  const synchronous = KILLS > 0 ? await withScope((scope) => measure(scope, { isSynchronous: true, kills: KILLS })) : []
  const kills = ASYNCHRONOUS_KILLS
  const asynchronous = kills > 0 ? await withScope((scope) => measure(scope, { isSynchronous: false, kills })) : []
  return [...synchronous, ...asynchronous]
}

async function measure(
  scope: AsyncDisposableStack,
  { isSynchronous, kills }: { isSynchronous: boolean; kills: number },
): Promise<BenchRow[]> {
  const home = mkdtempSync(join(tmpdir(), 'kp-failover-'))
  scope.defer(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  chmodSync(home, 0o755)
  const nodes = await startPatroni(scope, home, isSynchronous)
  await healthyPrimary(nodes, isSynchronous)
  const web = [await freeBenchPort(), await freeBenchPort()]
  const { site, at, primary, pooler } = await startProxies(scope, home, nodes, web)
  const owner = at('kp_owner', primary)
  await reachable(at('postgres', primary, 'postgres'))
  await withConnection(at('postgres', primary, 'postgres'), async (admin) => {
    await admin.query("CREATE ROLE kp_owner LOGIN PASSWORD 'bench' CREATEROLE")
    await admin.query("CREATE ROLE kp_app LOGIN PASSWORD 'bench'")
    await admin.query("CREATE DATABASE kp OWNER kp_owner ENCODING 'UTF8' TEMPLATE template0")
  })
  const settings = {
    DATABASE_URL: at('kp_app', pooler),
    DATABASE_DIRECT_URL: at('kp_app', primary),
    KP_DATA_DIR: join(home, 'kp'),
    KP_LEDGER_URL: join(home, 'ledger'),
    KP_SECRET: secret,
    KP_LIMITS: 'postgres',
    XDG_STATE_HOME: home,
    XDG_DATA_HOME: home,
  }
  mkdirSync(settings.KP_DATA_DIR)
  await reachable(settings.DATABASE_URL)
  await prepareInstallation({ ...settings, DATABASE_MIGRATION_URL: owner })
  const env = { ...settings, DATABASE_MIGRATION_URL: owner }
  for (const port of web)
    await startServer(scope, {
      command: () => [...nodeFlags, 'lib/testing/pageless-server.ts'],
      env,
      port,
      readyPath: '/ready',
    })
  // It signs receipts whose signature a failover lost, so it runs before the first kill and is restarted, as in an installation.
  const { PATH = '' } = process.env
  const worker = startChild({
    name: 'worker',
    file: 'bin/worker.ts',
    env: { PATH, HOME: home, NODE_ENV: 'production', ...env },
    onGivenUp: (message) => console.error(message),
  })
  scope.defer(() => worker.stop())
  await worker.ready
  const agent = await registerBenchAgent(site, { ownerUrl: owner })

  const written: Written = { created: new Set(), erased: new Set(), requested: new Set(), attempts: [], served: [] }
  const over = new AbortController()
  const loading = load(site, agent, written, over.signal)
  const outages: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    const killed = await healthyPrimary(nodes, isSynchronous)
    await delay(QUIET)
    killed.replication?.freeze()
    if (!isSynchronous) await delay(BEHIND)
    const at = performance.now()
    killed.kill()
    const acknowledged = () =>
      written.attempts.find(({ began, isWrite, status }) => began > at && isWrite && status > 0 && status < 300)
    while (acknowledged() === undefined && performance.now() < at + PATIENCE) await delay(20)
    // What was sent before the kill may be acknowledged after it; only what was sent later shows that writes work again.
    const first = written.attempts
      .filter(({ began, isWrite, status }) => began > at + SECOND && isWrite && status > 0 && status < 300)
      .reduce((least, { ended }) => Math.min(least, ended), Number.POSITIVE_INFINITY)
    outages.push(((Number.isFinite(first) ? first : performance.now()) - at) / SECOND)
    await delay(QUIET)
    await killed.start()
    const shown = `${kill + 1} of ${kills}: killed ${killed.name}, writes after ${outages.at(-1)?.toFixed(1)} s`
    console.log(`  ${shown}, ${written.served.length} erased units were read so far`)
  }
  over.abort()
  await loading
  await healthyPrimary(nodes, isSynchronous)
  // Ready: the database has every erasure of the ledger.
  for (const port of web) await answers(`http://127.0.0.1:${port}/ready`, () => false, PATIENCE)
  return rowsOf(written, await settled(owner, written.erased), { outages, isSynchronous })
}

/** What is stored, once a job has signed the receipts whose signature an asynchronous failover lost. */
async function settled(owner: string, erased: ReadonlySet<string>): Promise<Stored> {
  for (const giveUp = performance.now() + PATIENCE; ; await delay(SECOND)) {
    const stored = await storedIn(owner)
    if ([...erased].every((id) => stored.receipts.has(id)) || performance.now() > giveUp) return stored
  }
}

interface Stored {
  units: Set<string>
  audited: Map<string, number>
  receipts: Set<string>
}
const storedIn = (owner: string): Promise<Stored> =>
  withConnection(owner, async (client) => {
    const units = await client.query<{ id: string }>('SELECT id FROM units')
    const entries = await client.query<{ id: string; n: number }>(
      'SELECT resource_id AS id, count(*)::int4 AS n FROM audit_entries GROUP BY 1',
    )
    const receipts = await client.query<{ id: string }>("SELECT deleted_id AS id FROM erasures WHERE state = 'signed'")
    return {
      units: new Set(units.rows.map(({ id }) => id)),
      audited: new Map(entries.rows.map(({ id, n }) => [id, n])),
      receipts: new Set(receipts.rows.map(({ id }) => id)),
    }
  })

function rowsOf(
  { attempts, created, erased, requested, served }: Written,
  { units, audited, receipts }: Stored,
  { outages, isSynchronous }: { outages: readonly number[]; isSynchronous: boolean },
): BenchRow[] {
  const lost = [...created].filter((id) => !requested.has(id) && !units.has(id)).length
  const unanswered = attempts.filter(({ status }) => status === 0).length
  const back = [...erased].filter((id) => units.has(id)).length
  const unproven = [...erased].filter((id) => !receipts.has(id)).length
  const silent = [...created].filter((id) => (audited.get(id) ?? 0) < (erased.has(id) ? 2 : 1)).length
  // A unit that an asynchronous failover lost cannot be erased.
  const isExpected = ({ status, isErasure, isRight }: Written['attempts'][number]) =>
    isRight || status === 503 || status === 0 || (!isSynchronous && isErasure && status === 404)
  const unexpected = attempts.filter((one) => !isExpected(one)).length
  const count = (value: number) => value.toLocaleString('en')
  const worst = Math.max(...outages)
  const how = `${isSynchronous ? 'synchronous' : 'asynchronous'}, ${outages.length} kills`
  /** What an asynchronous failover may lose is measured without a bar. */
  const keptRow = (name: string, value: number, unit: string): BenchRow =>
    isSynchronous ? noneRow(name, value, unit) : { name, value, unit }
  return [
    keptRow(`${how}: missing units of ${count(created.size)} acknowledged`, lost, 'units'),
    keptRow(`${how}: acknowledged writes without their audit entries`, silent, 'writes'),
    noneRow(`${how}: erased units that are back, of ${count(erased.size)}`, back, 'units'),
    noneRow(`${how}: erased units without a signed receipt`, unproven, 'units'),
    noneRow(`${how}: erased units that were read`, served.length, 'requests'),
    noneRow(`${how}: answers neither right nor 503, of ${count(attempts.length)}`, unexpected, 'requests'),
    { name: `${how}: connections that ended without an answer`, value: unanswered, unit: 'requests' },
    {
      name: `${how}: until a write is acknowledged, slowest`,
      value: worst,
      unit: 's',
      bar: `at most ${BACK}`,
      met: worst <= BACK,
    },
  ]
}
