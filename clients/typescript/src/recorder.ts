import type { KnowledgePulse } from './client.ts'
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

interface RecordedMessage {
  id: string
  role: 'user' | 'assistant' | 'system' | 'tool'
  content: string
  author?: ThreadAuthor
}
/** Without its content if the queue was full. */
type WaitingMessage = Omit<RecordedMessage, 'content'> & {
  content: string | undefined
  /** The time of the checkpoint that contains it. */
  writtenAt: string
  /** The registry refused it. It is sent again after the pause of its thread. */
  isRefused?: boolean
  /** Its author was erased: it is reported as the agent's, and erased from the stores that contain it. */
  isErased?: boolean
}
/** The id under which the registry knows a text, or why it is not stored yet. */
type Outcome = { id: string } | { refusal: RegistryProblem }
interface Thread {
  /** Undefined until it is registered. */
  conversation: string | undefined
  /** Ids that the registry has. */
  known: Set<string>
  /** Ids of messages from before the present run, with the time of their checkpoint. */
  loaded: Map<string, string | undefined>
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
const deepest = 6
/** Milliseconds for a call of the registry. It goes on after a write stopped waiting for it. */
const callTimeout = 10_000
/** A failed call is repeated with the other reports. */
const calling = { timeout: callTimeout, retries: 0 }
/** Threads that the recorder remembers, in addition to those with something to report. */
const mostThreads = 1_000
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

/** Whether something of the thread is still to be reported. */
const isWaiting = ({ isUnchecked, waiting, pointers }: Thread): boolean =>
  isUnchecked || waiting.size + pointers.length > 0
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
      for (const message of messages)
        if (!thread.known.has(message.id) && !thread.waiting.has(message.id)) thread.loaded.set(message.id, writtenAt)
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
   * Waits until everything was reported, and what was written of erased threads is deleted.
   * @throws the last problem if the registry still does not answer, or still refuses something
   */
  async settle(): Promise<void> {
    let refusal: RegistryProblem | undefined
    for (const id of [...this.#threads.keys()])
      try {
        refusal = (await this.#report(id, true)) ?? refusal
      } catch (error) {
        await this.#forgetErased(id, error)
      }
    // What is being erased needs no report.
    if (refusal && !(refusal instanceof Fenced)) throw refusal
  }

  /** Reports what is waiting, and ends the retries. */
  async close(): Promise<void> {
    try {
      await this.settle()
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
    const written = await write()
    const messages = await withIds(id, saidInChannels(channels, this.#inputs, isState))
    const thread = ofSaver()
    for (const message of messages) this.#note(thread, { ...message, writtenAt }, author)
    // An erasure may have begun and ended during the write.
    await this.#reportOrRefuse(id)
    refuseErasedAuthor()
    return written
  }

  #note(thread: Thread, message: RecordedMessage & { writtenAt: string }, author: ThreadAuthor | undefined): void {
    const { id, role, content, writtenAt } = message
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
    if (thread.known.has(id) || thread.waiting.has(id)) return
    const fits = this.#queued + content.length <= (this.#options.queue ?? 2 ** 24)
    if (fits) this.#queued += content.length
    thread.waiting.set(id, {
      id,
      role,
      content: fits ? content : undefined,
      writtenAt: thread.loaded.get(id) ?? writtenAt,
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
      return known
    }
    if (this.#threads.size >= mostThreads) this.#removeIdle()
    const made: Thread = {
      conversation: undefined,
      known: new Set(),
      loaded: new Map(),
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
    }
    this.#threads.set(id, made)
    return made
  }

  /** A thread that was reported is registered again when it is used again. */
  #removeIdle(): void {
    for (const [id, thread] of this.#threads)
      if (!isWaiting(thread)) {
        this.#threads.delete(id)
        return
      }
  }

  /** Like {@link #report}, but a write waits only a short time, and not at all while the registry is known to be down. */
  async #reportWithin(id: string): Promise<void> {
    const thread = this.#threadOf(id)
    const goOn = () => {
      thread.isUnchecked = true
      this.#retryLater()
    }
    if (this.#isDown) return goOn()
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
    goOn()
    // Its answer may still refuse the thread.
    report
      .catch((error: unknown) => this.#forgetErased(id, error))
      .catch((error: unknown) => this.#options.onProblem?.(error, id))
  }

  /**
   * Reports the thread and what is waiting. A fault of the registry is noted, and reported later; if it `insists`, it is thrown, and what was
   * refused is sent again at once. Returns the last refusal of a message: it says nothing about the thread.
   * @throws Erased, Fenced if the thread may not be written
   */
  #report(id: string, insists = false): Promise<RegistryProblem | undefined> {
    const thread = this.#threads.get(id)
    if (!thread) return Promise.resolve(undefined)
    const turn = thread.turn.then(() =>
      this.#send(id, thread, insists).then(
        (refusal) => {
          thread.isUnchecked = false
          this.#isDown = false
          if (refusal) this.#retryLater()
          return refusal
        },
        (error: unknown) => {
          const isBusy = error instanceof RegistryProblem && error.status === 429
          if (isBusy) this.#notBefore = Date.now() + 1_000 * (error.retryAfter ?? 0)
          this.#isDown = isBusy || error instanceof RegistryUnreachable
          if (error instanceof Erased || error instanceof Fenced) {
            for (const message of [...thread.waiting.keys()]) this.#drop(thread, message)
            thread.pointers = []
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
  async #send(id: string, thread: Thread, insists: boolean): Promise<RegistryProblem | undefined> {
    let isAnswered = thread.conversation === undefined
    const conversationId = thread.conversation ?? (await this.#register(id))
    thread.conversation = conversationId
    const at = { projectId: this.project, conversationId }
    const isDue = insists || Date.now() >= thread.pausedUntil
    let refusal: RegistryProblem | undefined
    let stored: Map<string, string> | undefined
    for (const message of [...thread.waiting.values()]) {
      if (message.isRefused && !isDue) continue
      if (message.content === undefined) stored ??= await this.#storedTexts(id, thread)
      const content = message.content ?? stored?.get(message.id)
      // The application has deleted it meanwhile.
      if (content === undefined) this.#drop(thread, message.id)
      else {
        isAnswered = true
        refusal = (await this.#sendMessage(id, thread, at, { message, content, insists })) ?? refusal
      }
    }
    for (const pointer of [...thread.pointers]) {
      // A message that was noted meanwhile, or refused, is sent with a later report, and then its pointers.
      if (thread.waiting.has(pointer.source_id)) continue
      isAnswered = true
      await this.#sendPointer(id, at, {
        ...pointer,
        source_id: thread.otherIds.get(pointer.source_id) ?? pointer.source_id,
      })
      thread.pointers = thread.pointers.filter((one) => one !== pointer)
    }
    if (!isAnswered) await this.#requireLiving(id, at)
    if (refusal) this.#pause(thread)
    else if (thread.waiting.size === 0) thread.refusals = 0
    return refusal
  }

  /** Texts of the messages in the checkpoints, because the queue was full. */
  async #storedTexts(id: string, { read, waiting }: Thread): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    for await (const { checkpoint, pendingWrites = [] } of read?.() ?? []) {
      const writes = pendingWrites.flatMap((write) => (Array.isArray(write) ? [[write[1], write[2]] as const] : []))
      const said = [
        ...saidInChannels(channelsOf(checkpoint.channel_values), this.#inputs, true),
        ...saidInChannels(writes, this.#inputs, false),
      ]
      for (const message of await withIds(id, said))
        if (waiting.has(message.id) && !found.has(message.id)) found.set(message.id, message.content)
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
    const { id: ownId, role, writtenAt } = message
    const isLate = Date.now() - Date.parse(writtenAt) > lateAfter
    let isFirst = true
    for (const content of partsOf(storable(text))) {
      const author = message.isErased ? undefined : message.author
      const own = isFirst && idForm.test(ownId)
      const part = {
        id: own ? ownId : await idOf(id, { id: undefined, role, content }),
        role,
        content,
        ...(isLate && { created_at: writtenAt }),
        ...(author && { author }),
      }
      message.isRefused = true
      let outcome = await this.#post(id, at, part)
      const isOfErasedAuthor = 'refusal' in outcome && outcome.refusal instanceof Erased
      // Somebody else may have written it, and only the recorder of their run knew them. It keeps waiting.
      if (isOfErasedAuthor && author && !thread.loaded.has(ownId)) {
        message.isErased = true
        if (insists) {
          const { author: _, ...withoutAuthor } = part
          outcome = await this.#post(id, at, withoutAuthor)
        }
      }
      if ('refusal' in outcome) {
        this.#options.onProblem?.(outcome.refusal, id)
        return outcome.refusal
      }
      if (message.isErased) await this.#erase(at, outcome.id)
      if (isFirst && outcome.id !== ownId) thread.otherIds.set(ownId, outcome.id)
      isFirst = false
    }
    thread.known.add(ownId)
    this.#drop(thread, ownId)
    return undefined
  }

  /**
   * Reports a text. Of all answers, only these do not keep it waiting: it is stored, also under another id, or was erased under this one, so
   * that the registry knows its words.
   * @throws what concerns more than this message
   */
  async #post(
    id: string,
    at: { projectId: string; conversationId: string },
    message: RecordedMessage & { created_at?: string },
  ): Promise<Outcome> {
    const { author, created_at: writtenAt, ...own } = message
    const email = author && !this.#withoutEmail.has(author.external_id) ? author.email : undefined
    const { email: _, ...named } = author ?? {}
    const body = {
      ...own,
      ...(writtenAt !== undefined && { created_at: writtenAt }),
      ...(author && { author: { ...named, external_id: author.external_id, ...(email !== undefined && { email }) } }),
    }
    try {
      await this.client.post(
        '/api/projects/{projectId}/conversations/{conversationId}/messages',
        { params: at, body },
        calling,
      )
      return { id: own.id }
    } catch (error) {
      if (error instanceof IdInUse) return await this.#postOtherText(id, at, message)
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
        return await this.#post(id, at, { ...own, ...(author && { author }) })
      if (error instanceof Invalid && author?.name !== undefined && isAbout(error, 'name')) {
        this.#options.onProblem?.(error, id)
        const { name: ___, ...withoutName } = author
        return await this.#post(id, at, { ...message, author: withoutName })
      }
      // The message, its author or the whole conversation: only the conversation decides about the thread.
      if (error instanceof NotFound || error instanceof Erased || error instanceof Fenced)
        await this.#requireLiving(id, at)
      if (error instanceof Erased) return await this.#refusedAsErased(id, message, error)
      if (!isOfMessage(error)) throw error
      return { refusal: error }
    }
  }

  #refusesEmail(error: unknown): boolean {
    if (error instanceof Invalid) return isAbout(error, 'email')
    return error instanceof Conflict || error instanceof Forbidden
  }

  /** The id is in use: for the same text, which was reported before, or for another one, and then this text gets an id of its own. */
  async #postOtherText(
    id: string,
    params: { projectId: string; conversationId: string },
    message: RecordedMessage,
  ): Promise<Outcome> {
    const known = { id: message.id }
    const ownId = await idOf(id, { ...message, id: undefined })
    if (ownId === message.id) return known
    try {
      const { data } = await this.client.get(
        '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
        { params: { ...params, messageId: message.id } },
        calling,
      )
      if ([data, ...data.former].some(({ content }) => content === message.content)) return known
    } catch (error) {
      if (!(error instanceof RegistryProblem) || error.status === 429 || error.status >= 500) throw error
      const isBeingErased = error instanceof NotFound && error.document.audit_id !== undefined
      if (error instanceof Restricted || error instanceof Erased || isBeingErased) return known
    }
    return await this.#post(id, params, { ...message, id: ownId })
  }

  /** Whether the author was erased, and not the message: then its id can be used without the author. */
  async #refusedAsErased(id: string, { id: messageId, author }: RecordedMessage, error: Erased): Promise<Outcome> {
    if (author && (await this.#isErasedAuthor(author))) {
      this.#erasedAuthors.add(author.external_id)
      return { refusal: error }
    }
    this.#options.onProblem?.(error, id)
    return { id: messageId }
  }

  async #isErasedAuthor({ external_id }: ThreadAuthor): Promise<boolean> {
    try {
      await this.client.post(
        '/api/projects/{projectId}/participants',
        { params: { projectId: this.project }, body: { external_id } },
        calling,
      )
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
      await this.client.delete(
        '/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}',
        { params: { ...params, messageId } },
        erasing,
      )
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
      await this.client.post(
        '/api/projects/{projectId}/provenance',
        { params: { projectId: this.project }, body: { entries: [pointer] } },
        calling,
      )
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
    await client.post('/api/projects/{projectId}/conversations', { params: { projectId }, body }, calling)
  }

  /** @throws Erased, Fenced */
  async #requireLiving(id: string, params: { projectId: string; conversationId: string }): Promise<void> {
    try {
      await this.client.get('/api/projects/{projectId}/conversations/{conversationId}', { params }, calling)
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
    const wait = Math.max(this.#retryEvery, this.#notBefore - Date.now())
    this.#timer = setTimeout(() => void this.#retry(), wait)
    // The application may end; the next checkpoint of the thread contains its messages again.
    const timer: unknown = this.#timer
    if (isRecord(timer) && typeof timer.unref === 'function') timer.unref()
  }

  /** One thread after the other, until the registry does not answer again. */
  async #retry(): Promise<void> {
    this.#timer = undefined
    if (Date.now() < this.#notBefore) return this.#retryLater()
    this.#isRetrying = true
    for (const [id, thread] of [...this.#threads]) {
      if (!isWaiting(thread) || Date.now() < thread.pausedUntil) continue
      await this.#report(id)
        .catch((error: unknown) => this.#forgetErased(id, error))
        .catch((error: unknown) => this.#options.onProblem?.(error, id))
      if (this.#isDown) break
    }
    this.#isRetrying = false
    if ([...this.#threads.values()].some(isWaiting)) this.#retryLater()
  }
}
