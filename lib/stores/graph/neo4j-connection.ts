import { setTimeout as delay } from 'node:timers/promises'
import neo4j, { type Driver, type ManagedTransaction, Neo4jError, type Session, type SessionConfig } from 'neo4j-driver'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'

/** Milliseconds. A change waits for locks on shared entities. */
const transactionTimeout = 120_000
/** Milliseconds. Short, because the erasure engine retries: an unreachable server is reported soon. */
const retryFor = 1_000
const connectWithin = 5_000
/**
 * Milliseconds until a session has a connection. The driver limits the opening of the socket (`connectionTimeout`), but not the handshake of
 * Bolt: this limit ends the wait for a server that accepts connections and never answers.
 */
const acquireWithin = 4 * connectWithin

export type CypherRow = Record<string, unknown>
export type CypherQuery = (text: string, parameters?: CypherRow) => Promise<CypherRow[]>

/**
 * `ask` runs in the transaction. `seek` queries full-text indexes in a separate transaction, which sees committed data. In a transaction
 * with changes, a full-text index omits unchanged records (seen in 5.26.0), as if it confused node ids with relationship ids.
 */
export interface CypherSession {
  ask: CypherQuery
  seek: CypherQuery
}

/**
 * Maps the code of a Neo4j error. A lockout after failed sign-ins and an expired authorization in a cluster end without action by a
 * person.
 */
export function neo4jRefusal(code: string): StoreRefusal | undefined {
  if (code === 'Neo.ClientError.Security.Forbidden') return 'access_denied'
  if (/^Neo\.ClientError\.Security\.(AuthenticationRateLimit|AuthorizationExpired|TokenExpired)$/.test(code))
    return undefined
  if (code.startsWith('Neo.ClientError.Security.')) return 'credentials'
  return code === 'Neo.ClientError.Database.DatabaseNotFound' ? 'missing' : undefined
}

/** Turns a Neo4j error into a problem, by its code only: its message may quote stored data. */
export function asGraphProblem(error: unknown): unknown {
  if (!(error instanceof Neo4jError)) return error
  const why = error.code.startsWith('Neo.ClientError.Security')
    ? 'it rejects the credentials of KP_GRAPH_URL, or their user lacks permissions'
    : error.code.startsWith('Neo.')
      ? `it answered ${error.code}`
      : 'it does not answer, or does not use the protocol of the scheme in KP_GRAPH_URL'
  return unusableStore(neo4jRefusal(error.code), {
    detail: `The Neo4j of the knowledge graph cannot be used: ${why}. No change was applied in part. Waiting work continues when the graph answers again.`,
  })
}

/** Neo4j rolled back one of two conflicting transactions. It is available, so retrying may take longer than for an unreachable server. */
const gaveWay = (error: unknown) =>
  error instanceof Neo4jError && error.code.startsWith('Neo.TransientError.Transaction')

/** The pool of the driver gave no connection in time. The driver has no code for it. */
const hasNoConnection = (error: unknown): boolean =>
  error instanceof Neo4jError && /acquisition timed out/i.test(error.message)

/** Neo4j 5.26, or any calendar version after 5. */
export function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 26)
}

export interface Neo4jConnection {
  /** Runs one transaction, which the driver restarts after a conflict; `work` must be repeatable. */
  write<T>(work: (ask: CypherQuery) => Promise<T>): Promise<T>
  read<T>(work: (ask: CypherQuery) => Promise<T>): Promise<T>
  /**
   * Creates an index or constraint: one statement in a separate transaction. If another process created it at the same time, that is
   * fine.
   */
  define(text: string): Promise<void>
  /** @throws `unavailable` unless the server responds */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Connects on first use. Credentials are removed from the URL here and appear in no message. */
export function connectNeo4j(url: string): Neo4jConnection {
  const { protocol, username, password, host, pathname, search } = new URL(url)
  const database = decodeURIComponent(pathname.slice(1))
  const auth =
    username === '' ? undefined : neo4j.auth.basic(decodeURIComponent(username), decodeURIComponent(password))
  let opened: Driver | undefined
  /** The open sessions of each driver. */
  const uses = new Map<Driver, number>()
  const driver = () => {
    opened ??= neo4j.driver(`${protocol}//${host}${protocol.startsWith('neo4j') ? search : ''}`, auth, {
      // Integers beyond 2^53 lose precision when they are read; only texts are written back.
      disableLosslessIntegers: true,
      connectionTimeout: connectWithin,
      connectionAcquisitionTimeout: acquireWithin,
      maxTransactionRetryTime: retryFor,
      telemetryDisabled: true,
      userAgent: 'knowledgepulse',
    })
    return opened
  }
  /**
   * Runs `work` with a session. A handshake that was never answered keeps its place in the pool of the driver, also when the server answers
   * again. So a driver whose pool gave no connection is replaced, and closed with its last session.
   */
  async function withSession<T>(config: SessionConfig, work: (session: Session) => Promise<T>): Promise<T> {
    const one = driver()
    uses.set(one, (uses.get(one) ?? 0) + 1)
    const session = one.session({ ...config, ...(database === '' ? {} : { database }) })
    try {
      return await work(session)
    } catch (error) {
      if (opened === one && hasNoConnection(error)) opened = undefined
      throw asGraphProblem(error)
    } finally {
      await session.close()
      const left = (uses.get(one) ?? 1) - 1
      uses.set(one, left)
      if (left === 0) {
        uses.delete(one)
        if (opened !== one) one.close().catch(() => {}) // its unanswered handshakes end with the server's connections
      }
    }
  }
  const within = <T>(mode: 'READ' | 'WRITE', work: (ask: CypherQuery) => Promise<T>): Promise<T> =>
    withSession({ defaultAccessMode: mode }, async (session) => {
      const since = performance.now()
      const run = (tx: ManagedTransaction) =>
        work(async (text, parameters = {}) =>
          (await tx.run(text, parameters)).records.map((record) => record.toObject()),
        )
      const settings = { timeout: transactionTimeout }
      for (;;) {
        try {
          return await (mode === 'READ' ? session.executeRead(run, settings) : session.executeWrite(run, settings))
        } catch (error) {
          if (!gaveWay(error) || performance.now() - since > transactionTimeout) throw error
          await delay(Math.random() * 100)
        }
      }
    })
  return {
    write: (work) => within('WRITE', work),
    read: (work) => within('READ', work),
    async define(text) {
      try {
        await within('WRITE', async (ask) => void (await ask(text)))
      } catch (error) {
        if (!(error instanceof Problem && /AlreadyExists|NotFound/.test(error.detail ?? ''))) throw error
      }
    },
    ping: () =>
      withSession({}, async (session) => void (await session.run('RETURN 1', {}, { timeout: connectWithin }))),
    async close() {
      await opened?.close()
    },
  }
}
