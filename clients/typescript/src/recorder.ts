import type { KnowledgePulse, RequestKind } from './client.ts'
import {
  branded,
  Conflict,
  Erased,
  Fenced,
  Forbidden,
  IdInUse,
  Invalid,
  isBranded,
  NotFound,
  RegistryProblem,
  RegistryUnreachable,
  Restricted,
} from './problems.ts'

/** The person who uses the application in this thread, by your own id. */
export interface ThreadAuthor {
  external_id: string
  name?: string
  email?: string
}
/** What the recorder reads of the configuration of a run. */
export interface ThreadConfig {
  configurable?: Record<string, unknown>
}
/** What it needs of a saver of LangGraph. Not imported, so that the client has no dependency. */
export interface CheckpointSaver {
  put(config: ThreadConfig, checkpoint: { channel_values: unknown; ts?: string }, ...rest: never[]): Promise<unknown>
  putWrites(config: ThreadConfig, writes: readonly unknown[], ...rest: never[]): Promise<void>
  deleteThread(thread: string): Promise<void>
  getTuple(config: ThreadConfig): Promise<unknown>
  list(config: ThreadConfig): AsyncIterable<StoredCheckpoint>
}
interface StoredCheckpoint {
  checkpoint: { channel_values: unknown }
  /** Each with its task, channel and value. */
  pendingWrites?: readonly unknown[] | undefined
}
/** Data of another store. It is reported with the messages whose text it contains. */
export interface RecordedValue {
  store: 'cache' | 'objects' | 'graph'
  ref: string
  text: string
  /** Whether it is also reported with the last message of the user, for data such as a file that quotes no message. */
  isOfTurn?: boolean
}

export interface RecorderOptions {
  client: KnowledgePulse
  /** The id of the project that the conversations belong to. */
  project: string
  /** Who wrote the human messages of a run. Without it, the agent of the token is their author. */
  author?: (config: ThreadConfig) => ThreadAuthor | undefined
  /**
   * Keys of an input whose strings the person wrote, in a graph whose state is not made of messages. By default `input`, `question`, `query`
   * and `user_input`.
   */
  inputs?: readonly string[]
  /** By default the id of the thread. */
  title?: (thread: string) => string
  /** Called for everything that could not be reported yet, and for what the registry refuses. The application continues. */
  onProblem?: (error: unknown, thread: string) => void
  /** How long a write waits for the registry, in milliseconds, by default 2,000. While the registry is known to be down, writes do not wait. */
  patience?: number
  /** Milliseconds between two attempts to reach a registry that is down, by default 5,000. */
  retryEvery?: number
  /**
   * How many characters of messages wait in memory for the registry, by default 16,777,216. The texts of all others are read from the saver
   * when the registry answers again.
   */
  queue?: number
}

/** The thread was erased, or is being erased. Nothing of it may be written again. */
export class ErasedThread extends Error {
  readonly thread: string
  constructor(thread: string, options?: ErrorOptions) {
    super('This thread was erased, so nothing of it was stored. Start a new thread.', options)
    branded(this, 'erased-thread')
    this.name = 'ErasedThread'
    this.thread = thread
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(ErasedThread, value) || isBranded(value, 'erased-thread')
  }
}

/** The author was erased from the project, or is being erased. What they write is not stored, or deleted from what was stored. */
export class ErasedAuthor extends Error {
  readonly thread: string
  constructor(thread: string) {
    super('The author was erased, so nothing of them may be stored. Give a new account another external_id.')
    branded(this, 'erased-author')
    this.name = 'ErasedAuthor'
    this.thread = thread
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(ErasedAuthor, value) || isBranded(value, 'erased-author')
  }
}

/** The token may send nothing more before the next window of its limit. */
class LimitReached extends Error {
  readonly isLimit = true
}
/** The time limit of `settle` has passed. */
class TimePassed extends LimitReached {}
const requireTime = (deadline: number): void => {
  if (Date.now() >= deadline) throw new TimePassed('The time limit passed.')
}

interface RecordedMessage {
  id: string
  role: 'user' | 'assistant' | 'system' | 'tool'
  content: string
  author?: ThreadAuthor
}
/** Without its content if the queue was full. */
type WaitingMessage = Omit<RecordedMessage, 'content'> & {
  content: string | undefined
  hash: number
  /** The id that the text has in the state. */
  storedAs: string
  /** The time of the checkpoint that contains it. */
  writtenAt: string
  /** It is from before the present run: another person may have written it. */
  isLoaded: boolean
  /** The registry refused it. It is sent again after the pause of its thread. */
  isRefused?: boolean
  /** How many parts of a long text the registry has. */
  sentParts?: number
  /** The refusal that the application knows of. */
  told?: string
}
/** What is sent of a message, or of a part of it. */
type Report = RecordedMessage & {
  isLoaded: boolean
  created_at?: string
  /** It is reported only to be erased. */
  isErased?: boolean
  provenance?: { store: 'checkpoints'; ref: string }[]
}
/** A text of an erased author. It is reported as the agent's and erased at once, so that the registry erases what contains it. */
interface ErasedText {
  message: WaitingMessage & { content: string }
  /** Of its present report. No other report has it, and the registry never accepts an erased id again. */
  id: string
  erasedParts: number
  /** From now on, a write may be stored after the erasure searched the thread. */
  isRequested: boolean
  isWrittenAgain: boolean
  isDone: boolean
  /** The number of erasures, and the time (in milliseconds) before which it is not erased again. */
  erasures: number
  dueAt: number
}
/** The id under which the registry knows a text, or why it is not stored yet. */
type Outcome = { id: string } | { refusal: RegistryProblem }
interface Thread {
  /** Undefined until it is registered. */
  conversation: string | undefined
  /** Ids that the registry has, each with hashes of the texts that were reported for it. */
  known: Map<string, number[]>
  /** An earlier process registered it, so the registry may have messages that this process does not know. */
  hasEarlier: boolean
  /** Texts from before the present run, by {@link textKey}, with the time of their checkpoint. */
  loaded: Map<string, string | undefined>
  /** Texts of erased authors, by {@link textKey}. */
  erased: Map<string, ErasedText>
  /** The ids of messages whose own id belongs to another text. */
  otherIds: Map<string, string>
  /** How many reports in sequence were refused, and the time (in milliseconds) before which what was refused is not sent again. */
  refusals: number
  pausedUntil: number
  waiting: Map<string, WaitingMessage>
  /** Messages and the values that contain them, to be reported after the messages. */
  pointers: { source_id: string; store: RecordedValue['store']; ref: string }[]
  /** The beginnings of the latest texts, and values: a value may be written before the checkpoint that contains its message, or after it. */
  texts: Map<string, string>
  values: RecordedValue[]
  /** The last message of the user. */
  turnId: string | undefined
  /** Whether something was written without an answer of the registry. */
  isUnchecked: boolean
  /** Each deletes what was written before the registry said that the thread is erased. */
  forget: Map<string, () => Promise<unknown>>
  /** Reads the messages of the thread from its saver. */
  read: (() => AsyncIterable<StoredCheckpoint>) | undefined
  /** Reports of a thread are sent one after the other. */
  turn: Promise<unknown>
  usedAt: number
}

/** A message may have no id: its thread then gives it one. */
type SaidMessage = Omit<RecordedMessage, 'id'> & { id: string | undefined }

const roles: Readonly<Record<string, RecordedMessage['role']>> = {
  human: 'user',
  user: 'user',
  ai: 'assistant',
  assistant: 'assistant',
  system: 'system',
  tool: 'tool',
  function: 'tool',
}
/** What an erasure leaves of the last message of a person in a list of messages. */
const placeholder = '[erased]'
const deepest = 6
/** Milliseconds for a call of the registry. It goes on after a write stopped waiting for it. */
const callTimeout = 10_000
/** A failed call is repeated with the other reports. */
const calling = { timeout: callTimeout, retries: 0 }
/** Threads that the recorder remembers, in addition to those with something to report and those used within so many milliseconds. */
const mostThreads = 1_000
const idleAfter = 600_000
/** Of each thread: messages, by their first characters, and values. */
const mostTexts = 100
const longestStart = 500
const mostValues = 20
/** Characters of a value that are compared with later messages. */
const longestValue = 10_000
/** A shorter text may be in a value by chance. An erasure still finds it by its words. */
const shortestText = 20
/** Bytes of UTF-8 in a message of the registry. A longer text is reported in parts. */
const mostBytes = 256 * 1024
/** Characters that two parts have in common, so that each sentence is complete in one of them. */
const overlap = 1_000
/** Characters without a space in a message that is no text, such as an image. They are not reported. */
const encoded = /[\w+/=-]{2000,}/g
/** Milliseconds after which a report is late, so that it names the time of the checkpoint. */
const lateAfter = 60_000
/** What was refused is sent again after a pause of at most this many times the time between two attempts. */
const longestPause = 64
/**
 * The share of a limit that reports leave to the other calls of the token, and to its other processes. It doubles with each 429 of the last
 * hour, because the third one revokes the token.
 */
const reserved = 0.2
const mostReserved = 0.9
const refusalsCount = 3_600_000
/** Milliseconds by which processes with the same token continue at different times. */
const spread = 1_000
/** Messages of a page. */
const pageSize = 100
/** An erasure answers after at most 10 seconds. */
const erasing = { timeout: 30_000, retries: 0 }
/** The form of an id of a message. */
const idForm = /^(?!\.+$)[\w.:-]{1,200}$/

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Whether the registry refuses this message, and may store the following ones. */
const isOfMessage = (error: unknown): error is RegistryProblem =>
  error instanceof RegistryProblem &&
  (error.status === 422 || [Conflict, Fenced, NotFound, Restricted].some((kind) => error instanceof kind))
const isAbout = (error: RegistryProblem, field: string): boolean =>
  error.issues.some(({ path }) => path.includes(field))

/** The registry stores no NUL characters and no unpaired surrogates. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').replace(/\p{Cs}/gu, '\uFFFD')
/** The text in parts that the registry stores. */
function* partsOf(text: string): Generator<string> {
  const encoder = new TextEncoder()
  const bytes = new Uint8Array(Math.min(mostBytes, 3 * text.length))
  for (let from = 0; ; ) {
    const end = from + encoder.encodeInto(text.slice(from, from + mostBytes), bytes).read
    yield text.slice(from, end)
    if (end >= text.length) return
    from = end - overlap
    const isInPair = (text.codePointAt(from - 1) ?? 0) > 0xffff
    if (isInPair) from--
  }
}

/** A message of LangChain or OpenAI, as an object or as it is serialized. */
function messageOf(value: Record<string, unknown>): SaidMessage | undefined {
  const { id, content, type, role: given, getType } = value
  const kind = typeof getType === 'function' ? String(getType.call(value)) : String(type ?? given ?? '')
  const role = Object.hasOwn(roles, kind) ? roles[kind] : undefined
  if (role === undefined || content === undefined || content === null) return undefined
  const calls = Array.isArray(value.tool_calls) && value.tool_calls.length > 0 ? value.tool_calls : undefined
  const said = typeof content === 'string' ? content : JSON.stringify(content).replace(encoded, '')
  const text = said === '' || said === '[]' ? JSON.stringify(calls ?? '') : said
  return { id: typeof id === 'string' && id !== '' ? id : undefined, role, content: text }
}
function* messagesIn(value: unknown, depth = 0): Generator<SaidMessage> {
  if (!isRecord(value) || depth > deepest) return
  const message = Array.isArray(value) ? undefined : messageOf(value)
  if (message) yield message
  else for (const inner of Object.values(value)) yield* messagesIn(inner, depth + 1)
}
function* stringsIn(value: unknown, depth = 0): Generator<string> {
  if (typeof value === 'string') yield value
  else if (isRecord(value) && depth <= deepest)
    for (const inner of Object.values(value)) yield* stringsIn(inner, depth + 1)
}
/** What a person said outside of a message. */
function* saidIn(value: unknown): Generator<SaidMessage> {
  const content = [...stringsIn(value)].join('\n')
  if (content.trim() !== '') yield { id: undefined, role: 'user', content }
}

/**
 * What was said in channels of LangGraph: messages, answers to interrupts, and inputs that are texts. A message without an id gets one from
 * the reducer of its channel, so only the state has messages that remain without.
 */
function* saidInChannels(
  channels: Iterable<readonly [unknown, unknown]>,
  inputs: readonly string[],
  isState: boolean,
): Generator<SaidMessage> {
  const withId = function* (value: unknown) {
    for (const message of messagesIn(value)) if (message.id !== undefined) yield message
  }
  for (const [channel, value] of channels)
    if (channel === '__resume__') for (const answer of Array.isArray(value) ? value : [value]) yield* saidIn(answer)
    else if (channel !== '__start__') yield* isState ? messagesIn(value) : withId(value)
    else if (typeof value === 'string') yield* saidIn(value)
    else if (isRecord(value) && !Array.isArray(value) && !messageOf(value)) {
      yield* withId(value)
      for (const name of inputs) if (typeof value[name] === 'string') yield* saidIn(value[name])
    } else yield* messagesIn(value)
}
const channelsOf = (values: unknown): [string, unknown][] => (isRecord(values) ? Object.entries(values) : [])
const isWrite = (write: unknown): write is readonly [unknown, unknown] => Array.isArray(write) && write.length >= 2

/** The same text of a thread has the same id, so that it is reported once. */
async function idOf(thread: string, { role, content }: SaidMessage): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([thread, role, content]))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `said-${[...hash.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
const withIds = (thread: string, said: Iterable<SaidMessage>): Promise<RecordedMessage[]> =>
  Promise.all(Array.from(said, async (message) => ({ ...message, id: message.id ?? (await idOf(thread, message)) })))

/** 53 bits: enough to notice that the text of an id has changed. */
function hashOf(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (low >>> 11) * 2 ** 32 + (high >>> 0)
}

const textKey = (id: string, hash: number): string => `${hash} ${id}`
const isKnown = ({ known }: Thread, { id, content }: RecordedMessage): boolean =>
  known.get(id)?.includes(hashOf(content)) === true
/** Whether this process has noted the text: under its id, or under its own one if another text of the id waited. */
async function isNoted(id: string, thread: Thread, message: RecordedMessage): Promise<boolean> {
  const isThere = (one: RecordedMessage) =>
    isKnown(thread, one) || thread.waiting.get(one.id)?.hash === hashOf(one.content)
  return isThere(message) || isThere({ ...message, id: await idOf(id, { ...message, id: undefined }) })
}

/** Whether something of the thread is still to be reported. */
const notErased = (): Omit<ErasedText, 'message' | 'dueAt'> => ({
  id: `said-${crypto.randomUUID()}`,
  erasedParts: 0,
  isRequested: false,
  isWrittenAgain: false,
  isDone: false,
  erasures: 0,
})
const isErasureWaiting = ({ isDone, isWrittenAgain }: ErasedText): boolean => !isDone || isWrittenAgain
const hasErasures = ({ erased }: Thread): boolean => [...erased.values()].some(isErasureWaiting)
const hasReports = (thread: Thread): boolean => thread.waiting.size + thread.pointers.length > 0 || hasErasures(thread)
const isWaiting = (thread: Thread): boolean => thread.isUnchecked || hasReports(thread)
const isContained = (value: string, text: string): boolean => {
  const said = text.trim()
  return said.length >= shortestText && value.includes(said)
}

interface RunStorage {
  getStore?(): { extra?: Record<symbol, unknown> } | undefined
}
/** The configuration of the LangGraph run that this code belongs to, within a node or a tool. LangChain keeps it under these symbols. */
export function currentConfig(): ThreadConfig | undefined {
  const storage = (globalThis as Record<symbol, unknown>)[Symbol.for('ls:tracing_async_local_storage')] as
    | RunStorage
    | undefined
  const config = storage?.getStore?.()?.extra?.[Symbol.for('lc:child_config')]
  return isRecord(config) ? config : undefined
}

interface ThreadScope {
  getStore(): string | undefined
  enterWith(thread: string): void
}
/** The thread of the asynchronous calls of a run. Undefined outside Node, Deno and Bun. */
const ofRun: ThreadScope | undefined = (() => {
  const host = (globalThis as { process?: { getBuiltinModule?(name: string): unknown } }).process
  const hooks = host?.getBuiltinModule?.('node:async_hooks') as { AsyncLocalStorage: new () => ThreadScope } | undefined
  return hooks && new hooks.AsyncLocalStorage()
})()
/**
 * The threads that this code works for: of the node or tool that it belongs to, and of the run. LangGraph collects the writes of
 * `config.store` outside its nodes, so that only the run is known there.
 */
export const currentThreads = (): string[] => [
  ...new Set([threadOf(currentConfig()), ofRun?.getStore()].filter((thread) => thread !== undefined)),
]

export function threadOf(config: ThreadConfig | undefined): string | undefined {
  const id: unknown = config?.configurable?.thread_id
  return typeof id === 'string' && id !== '' ? id : undefined
}

/**
 * Records the provenance of LangGraph's checkpoints: each thread becomes a conversation of the project, and each of its messages a message
 * with the same id, so that an erasure finds both. Refuses late writes of erased threads.
 *
 * While the registry does not answer, the application goes on, and what was not reported is reported later.
 */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #threads = new Map<string, Thread>()
  readonly #retryEvery: number
  readonly #inputs: readonly string[]
  #group: string | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isRetrying = false
  /** Then no write waits for the registry, until it answers a retry. */
  #isDown = false
  /** Characters of messages that wait in memory. */
  #queued = 0
  /** The registry asked for no call before this time, in milliseconds. */
  #notBefore = 0
  /** The limit of the token permits no further report before this time. */
  #limitedUntil = 0
  /** When the registry answered 429. */
  #refusedAt: number[] = []
  /** The first call of each kind. Its answer states the limit. */
  readonly #first = new Map<RequestKind, Promise<void>>()
  /** External ids of authors that were erased, and of those that the registry knows with another email address. */
  readonly #erasedAuthors = new Set<string>()
  readonly #withoutEmail = new Set<string>()

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#retryEvery = options.retryEvery ?? 5_000
    this.#inputs = options.inputs ?? ['input', 'question', 'query', 'user_input']
  }

  get client(): KnowledgePulse {
    return this.#options.client
  }
  get project(): string {
    return this.#options.project
  }
  authorOf(config: ThreadConfig | undefined): ThreadAuthor | undefined {
    return config && this.#options.author?.(config)
  }

  /** The graph group of the project. While the registry does not answer, the id of the project, which is the group by default. */
  async group(): Promise<string> {
    if (this.#group !== undefined) return this.#group
    try {
      const found = await this.client.get('/api/projects/{projectId}', { params: { projectId: this.project } }, calling)
      this.#group = found.data.group_id
      return this.#group
    } catch (error) {
      if (!(error instanceof RegistryUnreachable)) throw error
      this.#options.onProblem?.(error, '')
      return this.project
    }
  }

  /** The same saver, which records what passes through it. It has exactly the methods of the saver. */
  checkpoints<S extends CheckpointSaver>(saver: S): S {
    const put = (...args: Parameters<CheckpointSaver['put']>) => {
      const [config, { channel_values: values, ts }] = args
      const said = { channels: channelsOf(values), isState: true, ...(ts !== undefined && { writtenAt: ts }) }
      return this.#guarded(saver, config, said, () => saver.put(...args))
    }
    const putWrites = (...args: Parameters<CheckpointSaver['putWrites']>) => {
      const [config, writes] = args
      const channels = writes.filter(isWrite)
      return this.#guarded(saver, config, { channels, isState: false }, () => saver.putWrites(...args))
    }
    /** Another person may have written what the thread contained before this run. */
    const loaded = async (id: string, tuple: unknown) => {
      const { checkpoint } = isRecord(tuple) ? tuple : {}
      const values = isRecord(checkpoint) ? channelsOf(checkpoint.channel_values) : []
      const messages = await withIds(id, saidInChannels(values, this.#inputs, true))
      const thread = this.#threadOf(id)
      const writtenAt = isRecord(checkpoint) && typeof checkpoint.ts === 'string' ? checkpoint.ts : undefined
      const present = new Set<string>()
      for (const message of messages) {
        const key = textKey(message.id, hashOf(message.content))
        present.add(key)
        if (!(await isNoted(id, thread, message))) thread.loaded.set(key, writtenAt)
      }
      // If the state contains an erased text later, somebody has said it again.
      for (const key of thread.erased.keys()) if (!present.has(key)) thread.loaded.delete(key)
    }
    return new Proxy(saver, {
      get(target, name) {
        if (name === 'put') return put
        if (name === 'putWrites') return putWrites
        // LangGraph calls it at the beginning of a run, before it starts to collect the writes of `config.store`.
        if (name === 'getTuple') {
          return (config: ThreadConfig) => {
            const thread = threadOf(config)
            if (thread === undefined) return target.getTuple(config)
            ofRun?.enterWith(thread)
            return target.getTuple(config).then(async (tuple) => {
              await loaded(thread, tuple)
              return tuple
            })
          }
        }
        const member: unknown = Reflect.get(target, name, target)
        // Bound, because savers have private fields.
        return typeof member === 'function' ? member.bind(target) : member
      },
      set: (target, name, value) => Reflect.set(target, name, value, target),
    })
  }

  /**
   * Call it before a write: registers the thread. `forget` deletes what was written of it, by a name of its store.
   * @throws ErasedThread if the thread may not be written; what was written of it is deleted
   */
  async admit(id: string, forget: Readonly<Record<string, () => Promise<unknown>>> = {}): Promise<void> {
    const thread = this.#threadOf(id)
    for (const [name, one] of Object.entries(forget)) thread.forget.set(name, one)
    await this.#reportOrRefuse(id)
  }

  /**
   * Notes data of another store that was written, and reports which messages of the thread it contains. `forget` is repeated, because the
   * registry may have refused the thread during the write.
   * @throws ErasedThread if an erasure began or ended during the write
   */
  async point(
    id: string,
    value: RecordedValue,
    forget: Readonly<Record<string, () => Promise<unknown>>> = {},
  ): Promise<void> {
    const thread = this.#threadOf(id)
    for (const [name, one] of Object.entries(forget)) thread.forget.set(name, one)
    const { store, ref } = value
    for (const [source, text] of thread.texts)
      if (isContained(value.text, text) || (value.isOfTurn && source === thread.turnId))
        thread.pointers.push({ source_id: source, store, ref })
    const kept = { ...value, text: value.text.slice(0, longestValue) }
    thread.values = [...thread.values.slice(1 - mostValues), kept]
    await this.#reportOrRefuse(id)
  }

  /**
   * Waits until everything was reported, and what was written of erased threads is deleted. A backlog that exceeds the limit of the token
   * takes several minutes. It waits at most `timeout` milliseconds, if given.
   * @throws the last problem if the registry still does not answer, or still refuses something, and a `TimeoutError` if something still
   * waits after `timeout`; it is reported later
   */
  async settle({ timeout }: { timeout?: number } = {}): Promise<void> {
    if (timeout === undefined) return await this.#settle(Number.POSITIVE_INFINITY)
    let timer: ReturnType<typeof setTimeout> | undefined
    const passed = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new TimePassed('The time limit passed.')), timeout)
    })
    const settling = this.#settle(Date.now() + timeout)
    try {
      // The last call may take longer.
      await Promise.race([settling, passed])
    } catch (error) {
      if (!(error instanceof TimePassed)) throw error
      settling.catch(() => {})
      this.#retryLater()
      throw new DOMException('The time limit passed before everything was reported.', 'TimeoutError')
    } finally {
      clearTimeout(timer)
    }
  }

  /** @throws TimePassed before the first call after the deadline */
  async #settle(deadline: number): Promise<void> {
    let refusal: RegistryProblem | undefined
    for (const [id, thread] of [...this.#threads])
      try {
        // A thread that has nothing to report needs no call.
        while (isWaiting(thread)) {
          const result = await this.#report(id, true, deadline)
          if (result instanceof TimePassed) throw result
          if (!(result instanceof LimitReached)) {
            refusal = result ?? refusal
            // A text may have been written again during its erasure.
            if (result === undefined && hasErasures(thread)) continue
            break
          }
          const wait = Math.min(this.#limitedUntil, deadline) - Date.now()
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, wait)))
        }
      } catch (error) {
        await this.#forgetErased(id, error)
      }
    // What is being erased needs no report.
    if (refusal && !(refusal instanceof Fenced)) throw refusal
  }

  /** Reports what is waiting, and ends the retries. `timeout` as for `settle`: then what still waits is reported after a restart. */
  async close(options: { timeout?: number } = {}): Promise<void> {
    try {
      await this.settle(options)
    } finally {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
  }

  /**
   * Deletes what was written of an erased thread while the registry was down. `erased` names this thread. `fenced` may also mean its project:
   * then only a thread that this process registered is known to go.
   */
  async #forgetErased(id: string, error: unknown): Promise<void> {
    const thread = this.#threads.get(id)
    if (!(error instanceof Erased || error instanceof Fenced)) throw error
    if (thread === undefined || !(error instanceof Erased || thread.conversation !== undefined)) return
    const results = await Promise.allSettled([...thread.forget.values()].map((forget) => forget()))
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed?.status !== 'rejected') {
      this.#threads.delete(id)
      return
    }
    thread.isUnchecked = true
    this.#retryLater()
    throw failed.reason
  }

  async #reportOrRefuse(id: string): Promise<void> {
    try {
      await this.#reportWithin(id)
    } catch (error) {
      await this.#forgetErased(id, error).catch((problem: unknown) => this.#options.onProblem?.(problem, id))
      throw new ErasedThread(id, { cause: error })
    }
  }

  async #guarded<T>(
    saver: Pick<CheckpointSaver, 'deleteThread' | 'list'>,
    config: ThreadConfig,
    {
      channels,
      isState,
      writtenAt = new Date().toISOString(),
    }: { channels: readonly (readonly [unknown, unknown])[]; isState: boolean; writtenAt?: string },
    write: () => Promise<T>,
  ): Promise<T> {
    const id = threadOf(config)
    if (id === undefined) return write()
    const ofSaver = (): Thread => {
      const thread = this.#threadOf(id)
      thread.forget.set('checkpoints', () => saver.deleteThread(id))
      thread.read = () => saver.list({ configurable: { thread_id: id } })
      return thread
    }
    const author = this.authorOf(config)
    const refuseErasedAuthor = () => {
      if (author && this.#erasedAuthors.has(author.external_id)) throw new ErasedAuthor(id)
    }
    refuseErasedAuthor()
    ofSaver()
    // Before the first checkpoint, because a thread that has checkpoints may belong to somebody else.
    await this.#reportOrRefuse(id)
    const said = () => withIds(id, saidInChannels(channels, this.#inputs, isState))
    let written: T
    try {
      written = await write()
    } catch (error) {
      // It may be stored nevertheless.
      const failed = ofSaver()
      for (const message of await said()) await this.#isWrittenAgain(id, failed, message, author)
      this.#reportLater(failed)
      throw error
    }
    const messages = await said()
    const thread = ofSaver()
    for (const message of messages) {
      if (message.content === placeholder) continue
      const hash = hashOf(message.content)
      if (await this.#isWrittenAgain(id, thread, message, author)) continue
      const before = thread.waiting.get(message.id)?.hash
      // Both texts of the id were written.
      const isOther = before !== undefined && before !== hash
      const own = isOther ? await idOf(id, { ...message, id: undefined }) : message.id
      this.#note(thread, { ...message, id: own, storedAs: message.id, hash, writtenAt }, author)
    }
    // An erasure may have begun and ended during the write.
    await this.#reportOrRefuse(id)
    refuseErasedAuthor()
    return written
  }

  /** Whether it is a text of an erased author. If its erasure was requested before, the write may be stored after the search. */
  async #isWrittenAgain(
    id: string,
    thread: Thread,
    message: RecordedMessage,
    author: ThreadAuthor | undefined,
  ): Promise<boolean> {
    const key = textKey(message.id, hashOf(message.content))
    const erased = thread.erased.get(key)
    if (!erased) return false
    // A text without an id of its own may also be said by somebody else.
    const isOwn = message.id !== (await idOf(id, { ...message, id: undefined }))
    const isTheirs = author !== undefined && author.external_id === erased.message.author?.external_id
    if (!isOwn && !isTheirs && !thread.loaded.has(key)) return false
    if (erased.isRequested) erased.isWrittenAgain = true
    return true
  }

  #note(
    thread: Thread,
    message: RecordedMessage & Pick<WaitingMessage, 'hash' | 'storedAs' | 'writtenAt'>,
    author: ThreadAuthor | undefined,
  ): void {
    const { id, role, content, hash, storedAs, writtenAt } = message
    const start = content.slice(0, longestStart)
    if (thread.texts.get(id) !== start) {
      // A value may be written before the first message of its thread is noted.
      const isFirstTurn = role === 'user' && thread.turnId === undefined
      if (role === 'user' && !thread.texts.has(id)) thread.turnId = id
      for (const value of thread.values)
        if (isContained(value.text, start) || (isFirstTurn && value.isOfTurn))
          thread.pointers.push({ source_id: id, store: value.store, ref: value.ref })
      // The last text is the newest.
      thread.texts.delete(id)
      thread.texts.set(id, start)
      const [oldest] = thread.texts.keys()
      if (thread.texts.size > mostTexts && oldest !== undefined) thread.texts.delete(oldest)
    }
    if (isKnown(thread, message) || thread.waiting.has(id)) return
    const fits = this.#queued + content.length <= (this.#options.queue ?? 2 ** 24)
    if (fits) this.#queued += content.length
    const loaded = textKey(storedAs, hash)
    thread.waiting.set(id, {
      id,
      role,
      content: fits ? content : undefined,
      hash,
      storedAs,
      writtenAt: thread.loaded.get(loaded) ?? writtenAt,
      isLoaded: thread.loaded.has(loaded),
      ...(author && role === 'user' && { author }),
    })
  }

  #drop(thread: Thread, id: string): void {
    this.#queued -= thread.waiting.get(id)?.content?.length ?? 0
    thread.waiting.delete(id)
  }

  #threadOf(id: string): Thread {
    const known = this.#threads.get(id)
    if (known) {
      // The last thread was used last.
      this.#threads.delete(id)
      this.#threads.set(id, known)
      known.usedAt = Date.now()
      return known
    }
    if (this.#threads.size >= mostThreads) this.#removeIdle()
    const made: Thread = {
      conversation: undefined,
      known: new Map(),
      hasEarlier: false,
      loaded: new Map(),
      erased: new Map(),
      otherIds: new Map(),
      refusals: 0,
      pausedUntil: 0,
      waiting: new Map(),
      pointers: [],
      texts: new Map(),
      values: [],
      turnId: undefined,
      isUnchecked: false,
      forget: new Map(),
      read: undefined,
      turn: Promise.resolve(),
      usedAt: Date.now(),
    }
    this.#threads.set(id, made)
    return made
  }

  /** A thread that was reported is registered again when it is used again. A run needs what its thread contained before it. */
  #removeIdle(): void {
    for (const [id, thread] of this.#threads) {
      if (Date.now() - thread.usedAt < idleAfter) return
      if (isWaiting(thread)) continue
      this.#threads.delete(id)
      return
    }
  }

  #reportLater(thread: Thread): void {
    thread.isUnchecked = true
    this.#retryLater()
  }

  /** Like {@link #report}, but a write waits only a short time, and not at all while the registry is known to be down. */
  async #reportWithin(id: string): Promise<void> {
    const thread = this.#threadOf(id)
    if (this.#isDown) return this.#reportLater(thread)
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), this.#options.patience ?? 2_000)
    })
    const report = this.#report(id)
    try {
      if ((await Promise.race([report, late])) !== 'late') return
    } finally {
      clearTimeout(timer)
    }
    this.#isDown = true
    this.#reportLater(thread)
    // Its answer may still refuse the thread.
    report
      .catch((error: unknown) => this.#forgetErased(id, error))
      .catch((error: unknown) => this.#options.onProblem?.(error, id))
  }

  /**
   * Reports the thread and what is waiting. A fault of the registry is noted, and reported later; if it `insists`, it is thrown, and what was
   * refused is sent again at once. Returns the last refusal of a message, which says nothing about the thread, or that the limit was reached.
   * @throws Erased, Fenced if the thread may not be written
   */
  #report(
    id: string,
    insists = false,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<RegistryProblem | LimitReached | undefined> {
    const thread = this.#threads.get(id)
    if (!thread) return Promise.resolve(undefined)
    const turn = thread.turn.then(() =>
      this.#send(id, thread, insists, deadline).then(
        (refusal) => {
          thread.isUnchecked = false
          this.#isDown = false
          if (refusal || hasReports(thread)) this.#retryLater()
          return refusal
        },
        (error: unknown) => {
          if (error instanceof TimePassed) return error
          if (error instanceof LimitReached) {
            thread.isUnchecked = true
            this.#retryLater()
            return error
          }
          const isBusy = error instanceof RegistryProblem && error.status === 429
          if (isBusy) {
            this.#notBefore = Date.now() + 1_000 * (error.retryAfter ?? 0)
            this.#refusedAt.push(Date.now())
          }
          this.#isDown = isBusy || error instanceof RegistryUnreachable
          if (error instanceof Erased || error instanceof Fenced) {
            for (const message of [...thread.waiting.keys()]) this.#drop(thread, message)
            thread.pointers = []
            thread.erased.clear()
            throw error
          }
          if (error instanceof RegistryProblem && error.status < 500) this.#pause(thread)
          thread.isUnchecked = true
          this.#options.onProblem?.(error, id)
          this.#retryLater()
          if (insists) throw error
          return undefined
        },
      ),
    )
    thread.turn = turn.catch(() => {})
    return turn
  }

  /** Twice as long after each refusal, because the calls of a token are limited. */
  #pause(thread: Thread): void {
    thread.pausedUntil = Date.now() + this.#retryEvery * Math.min(2 ** thread.refusals, longestPause)
    thread.refusals++
  }

  /** Sends what is waiting. Returns the last refusal of a message, which keeps waiting. */
  async #send(
    id: string,
    thread: Thread,
    insists: boolean,
    deadline: number,
  ): Promise<RegistryProblem | LimitReached | undefined> {
    requireTime(deadline)
    let isAnswered = thread.conversation === undefined
    const conversationId = thread.conversation ?? (await this.#register(id))
    thread.conversation = conversationId
    const at = { projectId: this.project, conversationId }
    const isDue = insists || Date.now() >= thread.pausedUntil
    let refusal: RegistryProblem | undefined
    let limit: LimitReached | undefined
    let stored: Map<string, string> | undefined
    try {
      if (thread.hasEarlier && thread.waiting.size > 0) {
        await this.#readEarlier(id, thread, at)
        isAnswered = true
      }
      for (const message of [...thread.waiting.values()]) {
        if (message.isRefused && !isDue) continue
        if (message.content === undefined) stored ??= await this.#storedTexts(id, thread)
        const content = message.content ?? stored?.get(message.id)
        requireTime(deadline)
        if (content === undefined) {
          // The application has deleted it meanwhile, or its saver has no text anymore.
          this.#options.onProblem?.(new Error('A text that waited is no longer in the saver. It was not reported.'), id)
          this.#drop(thread, message.id)
        } else {
          refusal = (await this.#sendMessage(id, thread, at, { message, content, insists })) ?? refusal
          isAnswered = true
        }
      }
      for (const erased of thread.erased.values()) {
        if (!isErasureWaiting(erased) || !(insists || Date.now() >= erased.dueAt)) continue
        refusal = (await this.#eraseText(id, at, { erased, deadline })) ?? refusal
        isAnswered = true
      }
      for (const pointer of [...thread.pointers]) {
        // A message that was noted meanwhile, or refused, is sent with a later report, and then its pointers.
        if (thread.waiting.has(pointer.source_id)) continue
        requireTime(deadline)
        await this.#sendPointer(id, at, {
          ...pointer,
          source_id: thread.otherIds.get(pointer.source_id) ?? pointer.source_id,
        })
        isAnswered = true
        thread.pointers = thread.pointers.filter((one) => one !== pointer)
      }
    } catch (error) {
      if (!(error instanceof LimitReached) || error instanceof TimePassed) throw error
      // The fence needs an answer also while reports wait.
      limit = error
    }
    if (!isAnswered) await this.#requireLiving(id, at)
    if (refusal) this.#pause(thread)
    else if (thread.waiting.size === 0) thread.refusals = 0
    return limit ?? refusal
  }

  /**
   * A call within the limit of the token. `isUrgent` calls may use what is reserved.
   * @throws LimitReached instead of a call that the registry would refuse
   */
  async #call<T>(kind: RequestKind, send: () => Promise<T>, { isUrgent = false } = {}): Promise<T> {
    // Before the first answer, the limit is not known: one call at a time.
    for (let first = this.#first.get(kind); first; first = this.#first.get(kind)) {
      await first
      if (this.#first.get(kind) === first) break
    }
    const window = this.client.rateWindow(kind)
    if (window) {
      const now = Date.now()
      this.#refusedAt = this.#refusedAt.filter((at) => now - at < refusalsCount)
      const share = Math.min(mostReserved, reserved * 2 ** this.#refusedAt.length)
      const kept = isUrgent ? 0 : Math.min(window.limit - 1, Math.ceil(window.limit * share))
      if (window.remaining <= kept) {
        // After the end of the window, only calls without an answer count.
        if (this.#limitedUntil <= now) this.#limitedUntil = Math.max(window.resetAt, now) + spread * (1 + Math.random())
        throw new LimitReached('The limit of the token is reached.')
      }
    }
    const sent = send()
    if (!this.#first.has(kind))
      this.#first.set(
        kind,
        sent.then(
          () => {},
          (error: unknown) => void (error instanceof RegistryUnreachable && this.#first.delete(kind)),
        ),
      )
    return sent
  }

  /**
   * Compares what waits with what an earlier process reported, page by page, because each report of a known message would be refused, and
   * counted. What is not found, such as a message of somebody whose processing is restricted, is reported.
   */
  async #readEarlier(id: string, thread: Thread, params: { projectId: string; conversationId: string }): Promise<void> {
    // The messages of a state are among the newest. Reading on would cost more than reporting.
    const mostPages = 1 + Math.ceil((2 * thread.waiting.size) / pageSize)
    const sought = new Map<string, { message: WaitingMessage; content: string; n: number }[]>()
    /** Messages, with the parts that were not found. */
    const missing = new Map<WaitingMessage, Set<number>>()
    // What was found of a message whose own id the registry could store: that this id belongs to another text, and the text under its
    // derived id. Without the former, the latter may be an equal text of somebody else.
    const ofOthers = new Set<WaitingMessage>()
    const derived = new Map<WaitingMessage, string>()
    for (const message of thread.waiting.values())
      if (message.content !== undefined)
        for (const [n, content] of [...partsOf(storable(message.content))].entries()) {
          missing.set(message, (missing.get(message) ?? new Set()).add(n))
          const ids = new Set([await idOf(id, { ...message, id: undefined, content })])
          if (n === 0 && idForm.test(message.id)) ids.add(message.id)
          for (const one of ids) sought.set(one, [...(sought.get(one) ?? []), { message, content, n }])
        }
    let cursor: string | null = null
    for (let page = 0; page < mostPages && missing.size > 0; page++) {
      const query: { limit: number; order: 'newest'; cursor?: string } = { limit: pageSize, order: 'newest' }
      if (cursor !== null) query.cursor = cursor
      const found = await this.#call('read', () =>
        this.client.get(
          '/api/projects/{projectId}/conversations/{conversationId}/messages',
          { params, query },
          calling,
        ),
      ).catch((error: unknown) => {
        if (error instanceof NotFound) return undefined
        throw error
      })
      // The conversation was erased, or the token has lost its access.
      if (!found) return await this.#requireLiving(id, params)
      for (const stored of found.data)
        for (const { message, content, n } of sought.get(stored.id) ?? []) {
          // Both ids may have the same text.
          const parts = missing.get(message)
          if (!parts) continue
          const isOwn = stored.id === message.id
          const isSame = content === stored.content && message.role === stored.role
          if (isSame && n === 0 && !isOwn) derived.set(message, stored.id)
          else if (isSame) parts.delete(n)
          else if (isOwn) ofOthers.add(message)
          const other = derived.get(message)
          const isElsewhere = ofOthers.has(message) || !idForm.test(message.id)
          if (parts.has(0) && isElsewhere && other !== undefined) {
            thread.otherIds.set(message.id, other)
            parts.delete(0)
          }
          if (parts.size > 0) continue
          missing.delete(message)
          this.#isReported(thread, message, String(message.content))
        }
      cursor = found.next_cursor
      if (cursor === null) break
    }
    thread.hasEarlier = false
  }

  #isReported(thread: Thread, { id }: WaitingMessage, content: string): void {
    thread.known.set(id, [...(thread.known.get(id) ?? []), hashOf(content)])
    this.#drop(thread, id)
  }

  /** Texts of the messages in the checkpoints, because the queue was full. */
  async #storedTexts(id: string, thread: Thread): Promise<Map<string, string>> {
    const waiting = [...thread.waiting.values()]
    const wanted = new Map(waiting.map(({ id: own, storedAs, hash }) => [textKey(storedAs, hash), own]))
    const found = new Map<string, string>()
    /** A saver may have stored a text in another form. */
    const newest = new Map<string, string>()
    for await (const { checkpoint, pendingWrites = [] } of thread.read?.() ?? []) {
      const writes = pendingWrites.flatMap((write) => (Array.isArray(write) ? [[write[1], write[2]] as const] : []))
      const said = [
        ...saidInChannels(channelsOf(checkpoint.channel_values), this.#inputs, true),
        ...saidInChannels(writes, this.#inputs, false),
      ]
      for (const message of await withIds(id, said)) {
        const own = wanted.get(textKey(message.id, hashOf(message.content)))
        if (own !== undefined) found.set(own, message.content)
        else if (!newest.has(message.id) && !isKnown(thread, message)) newest.set(message.id, message.content)
      }
    }
    for (const { id: own, storedAs } of waiting) {
      const text = newest.get(storedAs)
      if (!found.has(own) && text !== undefined) found.set(own, text)
    }
    return found
  }

  /** Reports a message, in parts if it is long. Returns why the registry does not store it yet: then it keeps waiting. */
  async #sendMessage(
    id: string,
    thread: Thread,
    at: { projectId: string; conversationId: string },
    { message, content: text, insists }: { message: WaitingMessage; content: string; insists: boolean },
  ): Promise<RegistryProblem | undefined> {
    const { id: ownId, role, writtenAt, isLoaded } = message
    const isLate = Date.now() - Date.parse(writtenAt) > lateAfter
    let isFirst = true
    let number = 0
    for (const content of partsOf(storable(text))) {
      // A report of many parts takes several windows of the limit.
      if (number++ < (message.sentParts ?? 0)) {
        isFirst = false
        continue
      }
      const { author } = message
      const own = isFirst && idForm.test(ownId)
      const part = {
        id: own ? ownId : await idOf(id, { id: undefined, role, content }),
        role,
        content,
        isLoaded,
        ...(isLate && { created_at: writtenAt }),
        ...(author && { author }),
      }
      const wasRefused = message.isRefused === true
      message.isRefused = true
      const outcome = await this.#post(id, at, part).catch((error: unknown) => {
        if (error instanceof LimitReached) message.isRefused = wasRefused
        throw error
      })
      const problem = 'refusal' in outcome ? outcome.refusal : undefined
      // Somebody else may have written it, and only the recorder of their run knew them. It keeps waiting.
      if (problem instanceof Erased && author && !isLoaded) {
        this.#options.onProblem?.(problem, id)
        const dueAt = insists ? 0 : Date.now() + this.#retryEvery
        const erased = { message: { ...message, content: text }, dueAt, ...notErased() }
        thread.erased.set(textKey(message.storedAs, message.hash), erased)
        thread.pointers = thread.pointers.filter(({ source_id: source }) => source !== ownId)
        this.#drop(thread, ownId)
        return undefined
      }
      if ('refusal' in outcome) {
        this.#tellOnce(id, message, outcome.refusal)
        return outcome.refusal
      }
      if (isFirst && outcome.id !== ownId) thread.otherIds.set(ownId, outcome.id)
      isFirst = false
      message.sentParts = number
    }
    this.#isReported(thread, message, text)
    return undefined
  }

  #tellOnce(id: string, message: WaitingMessage, refusal: RegistryProblem): void {
    if (message.told !== refusal.code) this.#options.onProblem?.(refusal, id)
    message.told = refusal.code
  }

  /**
   * Reports a text of an erased author as the agent's, in parts if it is long, and erases it from everything that contains it. Returns why the
   * registry does not store it yet.
   */
  async #eraseText(
    id: string,
    at: { projectId: string; conversationId: string },
    { erased, deadline }: { erased: ErasedText; deadline: number },
  ): Promise<RegistryProblem | undefined> {
    const { message } = erased
    if (erased.isDone) Object.assign(erased, { ...notErased(), erasures: erased.erasures })
    let number = 0
    for (const content of partsOf(storable(message.content))) {
      const own = number++
      if (own < erased.erasedParts) continue
      requireTime(deadline)
      const isLate = Date.now() - Date.parse(message.writtenAt) > lateAfter
      const outcome = await this.#post(id, at, {
        id: `${erased.id}-${own}`,
        role: message.role,
        content,
        isLoaded: false,
        isErased: true,
        ...(isLate && { created_at: message.writtenAt }),
        // So that a short text is found too.
        ...(own === 0 &&
          idForm.test(message.storedAs) && { provenance: [{ store: 'checkpoints', ref: message.storedAs }] }),
      })
      const problem = 'refusal' in outcome ? outcome.refusal : undefined
      // The id is in use or erased if an answer was lost: no other report has it.
      if (problem && !(problem instanceof Erased || problem instanceof IdInUse)) {
        this.#tellOnce(id, message, problem)
        return problem
      }
      if (!(problem instanceof Erased)) {
        erased.isRequested = true
        await this.#erase(at, `${erased.id}-${own}`)
      }
      erased.erasedParts = number
    }
    erased.isDone = true
    erased.erasures++
    erased.dueAt = Date.now() + this.#retryEvery * Math.min(2 ** erased.erasures, longestPause)
    return undefined
  }

  /**
   * Reports a text. Of all answers, only these do not keep it waiting: it is stored, also under another id, or was erased under this one, so
   * that the registry knows its words.
   * @throws what concerns more than this message
   */
  async #post(id: string, at: { projectId: string; conversationId: string }, message: Report): Promise<Outcome> {
    const { author, created_at: writtenAt, isLoaded, isErased, ...own } = message
    const email = author && !this.#withoutEmail.has(author.external_id) ? author.email : undefined
    const { email: _, ...named } = author ?? {}
    const body = {
      ...own,
      ...(writtenAt !== undefined && { created_at: writtenAt }),
      ...(author && { author: { ...named, external_id: author.external_id, ...(email !== undefined && { email }) } }),
    }
    try {
      await this.#call('write', () =>
        this.client.post(
          '/api/projects/{projectId}/conversations/{conversationId}/messages',
          { params: at, body },
          calling,
        ),
      )
      return { id: own.id }
    } catch (error) {
      if (error instanceof IdInUse && isErased) return { refusal: error }
      if (error instanceof IdInUse) return await this.#postOtherText(id, at, { message, isSame: error.document.same })
      if (author && email !== undefined && this.#refusesEmail(error)) {
        this.#options.onProblem?.(error, id)
        const { email: __, ...withoutEmail } = author
        const outcome = await this.#post(id, at, { ...message, author: withoutEmail })
        // Otherwise, the email address was not the cause.
        if ('id' in outcome) this.#withoutEmail.add(author.external_id)
        return outcome
      }
      // The clock of the application is ahead of that of the registry.
      if (error instanceof Invalid && writtenAt !== undefined && isAbout(error, 'created_at'))
        return await this.#post(id, at, { ...own, isLoaded, ...(isErased && { isErased }), ...(author && { author }) })
      if (error instanceof Invalid && author?.name !== undefined && isAbout(error, 'name')) {
        this.#options.onProblem?.(error, id)
        const { name: ___, ...withoutName } = author
        return await this.#post(id, at, { ...message, author: withoutName })
      }
      // The message, its author or the whole conversation: only the conversation decides about the thread.
      if (error instanceof NotFound || error instanceof Erased || error instanceof Fenced)
        await this.#requireLiving(id, at)
      if (error instanceof Erased) return await this.#refusedAsErased(id, at, message, error)
      if (!isOfMessage(error)) throw error
      return { refusal: error }
    }
  }

  #refusesEmail(error: unknown): boolean {
    if (error instanceof Invalid) return isAbout(error, 'email')
    return error instanceof Conflict || error instanceof Forbidden
  }

  /**
   * The id is in use: for the same text, which was reported before, or for another one, and then this text gets an id of its own.
   * @param isSame what the registry says about the texts, also if it does not show the stored one
   */
  async #postOtherText(
    id: string,
    params: { projectId: string; conversationId: string },
    { message, isSame }: { message: Report; isSame: unknown },
  ): Promise<Outcome> {
    const known = { id: message.id }
    const ownId = await idOf(id, { ...message, id: undefined })
    if (ownId === message.id || isSame === true) return known
    if (isSame === false && !message.isLoaded) return await this.#post(id, params, { ...message, id: ownId })
    try {
      const { data } = await this.#call('read', () =>
        this.client.get(
          '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
          { params: { ...params, messageId: message.id } },
          calling,
        ),
      )
      if ([data, ...data.former].some(({ content }) => content === message.content)) return known
    } catch (error) {
      if (!(error instanceof RegistryProblem) || error.status === 429 || error.status >= 500) throw error
      const isBeingErased = error instanceof NotFound && error.document.audit_id !== undefined
      // Whose words these are is not known: under another name, agents could read them.
      if (error instanceof Restricted && isSame === false) return { refusal: error }
      if (error instanceof Restricted || error instanceof Erased || isBeingErased) return known
    }
    return await this.#post(id, params, { ...message, id: ownId })
  }

  /** Whether the author was erased, and not the message: then its id can be used without the author. */
  async #refusedAsErased(
    id: string,
    at: { projectId: string; conversationId: string },
    message: Report,
    error: Erased,
  ): Promise<Outcome> {
    const { id: messageId, author } = message
    if (author && (await this.#isErasedAuthor(author))) {
      this.#erasedAuthors.add(author.external_id)
      return { refusal: error }
    }
    if (message.isErased) return { refusal: error }
    this.#options.onProblem?.(error, id)
    // This process reported another text under the id: the registry does not know the words of this one.
    const thread = this.#threads.get(id)
    if (!thread?.known.has(messageId) || isKnown(thread, message)) return { id: messageId }
    return await this.#post(id, at, { ...message, id: await idOf(id, { ...message, id: undefined }) })
  }

  async #isErasedAuthor({ external_id }: ThreadAuthor): Promise<boolean> {
    try {
      const input = { params: { projectId: this.project }, body: { external_id } }
      const ask = () => this.client.post('/api/projects/{projectId}/participants', input, calling)
      await this.#call('write', ask, { isUrgent: true })
      return false
    } catch (error) {
      if (error instanceof Erased) return true
      if (error instanceof Restricted || error instanceof Fenced) return false
      throw error
    }
  }

  /** Erases a message of an erased author from everything that contains it. The erasure continues after the answer. */
  async #erase(params: { projectId: string; conversationId: string }, messageId: string): Promise<void> {
    try {
      const path = '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}'
      const input = { params: { ...params, messageId } }
      await this.#call('write', () => this.client.delete(path, input, erasing), { isUrgent: true })
    } catch (error) {
      if (!(error instanceof NotFound || error instanceof Erased || error instanceof Fenced)) throw error
    }
  }

  async #sendPointer(
    id: string,
    at: { projectId: string; conversationId: string },
    pointer: Thread['pointers'][number],
  ): Promise<void> {
    try {
      const input = { params: { projectId: this.project }, body: { entries: [pointer] } }
      await this.#call('write', () => this.client.post('/api/projects/{projectId}/provenance', input, calling))
    } catch (error) {
      if (error instanceof NotFound || error instanceof Erased || error instanceof Fenced)
        await this.#requireLiving(id, at)
      // A name that the registry cannot store. The words of the value are known.
      else if (!(error instanceof Invalid)) throw error
      this.#options.onProblem?.(error, id)
    }
  }

  /**
   * Makes the thread a conversation with the same id. If the thread has checkpoints and its id contains none of ours, it may belong to somebody
   * else: then its messages are reported to a conversation of another id, so that an erasure finds their words, and a manager of the
   * organization has to name the thread.
   */
  async #register(id: string): Promise<string> {
    const { project: projectId, onProblem } = this.#options
    for (const conversationId of [id, `recorded-${id}`])
      try {
        await this.#create(id, conversationId)
        return conversationId
      } catch (error) {
        if (error instanceof IdInUse) {
          // An earlier run of the application registered it.
          await this.#requireLiving(id, { projectId, conversationId })
          const thread = this.#threads.get(id)
          if (thread) thread.hasEarlier = true
          return conversationId
        }
        const isOfOthers = error instanceof Invalid && conversationId === id
        if (!isOfOthers) throw error
        onProblem?.(error, id)
      }
    return id
  }

  async #create(id: string, conversationId: string): Promise<void> {
    const { client, project: projectId, title = (name: string) => name } = this.#options
    const body = { id: conversationId, title: title(id).slice(0, 200), threads: [conversationId] }
    const input = { params: { projectId }, body }
    const create = () => client.post('/api/projects/{projectId}/conversations', input, calling)
    await this.#call('write', create, { isUrgent: true })
  }

  /** @throws Erased, Fenced */
  async #requireLiving(id: string, params: { projectId: string; conversationId: string }): Promise<void> {
    try {
      const read = () =>
        this.client.get('/api/projects/{projectId}/conversations/{conversationId}', { params }, calling)
      await this.#call('read', read, { isUrgent: true })
    } catch (error) {
      if (!(error instanceof NotFound)) throw error
      // Erased, or the token has lost its access, which says nothing about the data of the application. The id of an erased conversation
      // is never accepted again, and only then is the answer `erased` or `fenced`.
      await this.#create(id, params.conversationId).catch((refusal: unknown) => {
        throw refusal instanceof IdInUse ? error : refusal
      })
    }
  }

  #retryLater(): void {
    if (this.#timer !== undefined || this.#isRetrying) return
    const wait = Math.max(this.#retryEvery, this.#notBefore - Date.now(), this.#limitedUntil - Date.now())
    this.#timer = setTimeout(() => void this.#retry(), wait)
    // The application may end; the next checkpoint of the thread contains its messages again.
    const timer: unknown = this.#timer
    if (isRecord(timer) && typeof timer.unref === 'function') timer.unref()
  }

  /** One thread after the other, until the registry does not answer again. */
  async #retry(): Promise<void> {
    this.#timer = undefined
    if (Date.now() < Math.max(this.#notBefore, this.#limitedUntil)) return this.#retryLater()
    this.#isRetrying = true
    for (const [id, thread] of [...this.#threads]) {
      if (!isWaiting(thread) || Date.now() < thread.pausedUntil) continue
      await this.#report(id)
        .catch((error: unknown) => this.#forgetErased(id, error))
        .catch((error: unknown) => this.#options.onProblem?.(error, id))
      if (this.#isDown || Date.now() < this.#limitedUntil) break
    }
    this.#isRetrying = false
    if ([...this.#threads.values()].some(isWaiting)) this.#retryLater()
  }
}
