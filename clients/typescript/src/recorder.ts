import type { KnowledgePulse } from './client.ts'
import {
  branded,
  Conflict,
  Erased,
  Fenced,
  IdInUse,
  Invalid,
  isBranded,
  NotFound,
  RegistryProblem,
  RegistryUnreachable,
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
  put(config: ThreadConfig, checkpoint: { channel_values: unknown }, ...rest: never[]): Promise<unknown>
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
  /** Called for everything that could not be reported yet, and for what the registry refuses. The application goes on. */
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

interface RecordedMessage {
  id: string
  role: 'user' | 'assistant' | 'system' | 'tool'
  content: string
  author?: ThreadAuthor
}
/** Without its content if the queue was full. */
type WaitingMessage = Omit<RecordedMessage, 'content'> & { content: string | undefined }
interface Thread {
  /** Undefined until it is registered. */
  conversation: string | undefined
  /** Ids that the registry has. */
  known: Set<string>
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
/** The registry stores a message of at most this many characters. A longer one is found by its words. */
const longest = 200_000

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Whether a repetition would be refused again: this message cannot be stored, but the following ones can. */
const isFinal = (error: unknown): boolean =>
  error instanceof RegistryProblem && (error.status === 413 || error.status === 422 || error.code === 'restricted')

/** A message of LangChain or OpenAI, as an object or as it is serialized. */
function messageOf(value: Record<string, unknown>): SaidMessage | undefined {
  const { id, content, type, role: given, getType } = value
  const kind = typeof getType === 'function' ? String(getType.call(value)) : String(type ?? given ?? '')
  const role = Object.hasOwn(roles, kind) ? roles[kind] : undefined
  if (role === undefined || content === undefined || content === null) return undefined
  const calls = Array.isArray(value.tool_calls) && value.tool_calls.length > 0 ? value.tool_calls : undefined
  const said = typeof content === 'string' ? content : JSON.stringify(content)
  const text = said === '' || said === '[]' ? JSON.stringify(calls ?? '') : said
  return { id: typeof id === 'string' && id !== '' ? id : undefined, role, content: text.slice(0, longest) }
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
  const content = [...stringsIn(value)].join('\n').slice(0, longest)
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
      const [config, { channel_values: values }] = args
      return this.#guarded(saver, config, { channels: channelsOf(values), isState: true }, () => saver.put(...args))
    }
    const putWrites = (...args: Parameters<CheckpointSaver['putWrites']>) => {
      const [config, writes] = args
      const channels = writes.filter(isWrite)
      return this.#guarded(saver, config, { channels, isState: false }, () => saver.putWrites(...args))
    }
    return new Proxy(saver, {
      get(target, name) {
        if (name === 'put') return put
        if (name === 'putWrites') return putWrites
        // LangGraph calls it at the beginning of a run, before it starts to collect the writes of `config.store`.
        if (name === 'getTuple') {
          return (config: ThreadConfig) => {
            const thread = threadOf(config)
            if (thread !== undefined) ofRun?.enterWith(thread)
            return target.getTuple(config)
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
   * @throws the last problem if the registry still does not answer
   */
  async settle(): Promise<void> {
    for (const id of [...this.#threads.keys()])
      await this.#report(id, true).catch((error: unknown) => this.#forgetErased(id, error))
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
    { channels, isState }: { channels: readonly (readonly [unknown, unknown])[]; isState: boolean },
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
    ofSaver()
    // Before the first checkpoint, because a thread that has checkpoints may belong to somebody else.
    await this.#reportOrRefuse(id)
    const written = await write()
    const messages = await withIds(id, saidInChannels(channels, this.#inputs, isState))
    const thread = ofSaver()
    for (const message of messages) this.#note(thread, message, author)
    // An erasure may have begun and ended during the write.
    await this.#reportOrRefuse(id)
    return written
  }

  #note(thread: Thread, message: RecordedMessage, author: ThreadAuthor | undefined): void {
    const { id, role, content } = message
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
   * Reports the thread and what is waiting. A fault of the registry is noted, and reported later; with `throws` it is thrown.
   * @throws Erased, Fenced if the thread may not be written
   */
  #report(id: string, throws = false): Promise<void> {
    const thread = this.#threads.get(id)
    if (!thread) return Promise.resolve()
    const turn = thread.turn.then(() =>
      this.#send(id, thread).then(
        () => {
          thread.isUnchecked = false
          this.#isDown = false
        },
        (error: unknown) => {
          this.#isDown = error instanceof RegistryUnreachable
          if (error instanceof Erased || error instanceof Fenced) {
            for (const message of [...thread.waiting.keys()]) this.#drop(thread, message)
            thread.pointers = []
            throw error
          }
          thread.isUnchecked = true
          this.#options.onProblem?.(error, id)
          this.#retryLater()
          if (throws) throw error
        },
      ),
    )
    thread.turn = turn.catch(() => {})
    return turn
  }

  async #send(id: string, thread: Thread): Promise<void> {
    const isNew = thread.conversation === undefined
    const conversationId = thread.conversation ?? (await this.#register(id))
    thread.conversation = conversationId
    const at = { projectId: this.project, conversationId }
    if (!isNew && thread.waiting.size + thread.pointers.length === 0) await this.#requireLiving(id, at)
    let stored: Map<string, string> | undefined
    for (const message of [...thread.waiting.values()]) {
      if (message.content === undefined) stored ??= await this.#storedTexts(id, thread)
      const content = message.content ?? stored?.get(message.id)
      // The application has deleted it meanwhile.
      if (content === undefined) this.#drop(thread, message.id)
      else await this.#sendMessage(id, thread, at, { ...message, content })
    }
    for (const pointer of [...thread.pointers]) {
      // A message that was noted meanwhile is sent with the next report, and then its pointers.
      if (thread.waiting.has(pointer.source_id)) continue
      await this.#sendPointer(id, at, pointer)
      thread.pointers = thread.pointers.filter((one) => one !== pointer)
    }
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

  async #sendMessage(
    id: string,
    thread: Thread,
    at: { projectId: string; conversationId: string },
    message: RecordedMessage,
  ): Promise<void> {
    try {
      await this.client.post(
        '/api/projects/{projectId}/conversations/{conversationId}/messages',
        { params: at, body: message },
        calling,
      )
    } catch (error) {
      if (!(error instanceof NotFound || error instanceof Erased || error instanceof Fenced)) {
        // A message of this id was reported before.
        const isKnown = error instanceof IdInUse || error instanceof Conflict
        if (!isKnown && !isFinal(error)) throw error
        if (!isKnown) this.#options.onProblem?.(error, id)
      } else {
        // The message, its author or the whole conversation: only the conversation decides about the thread.
        await this.#requireLiving(id, at)
        this.#options.onProblem?.(error, id)
        // The author is being erased, and so are their words in the checkpoints.
        if (error instanceof Fenced) return this.#retryLater()
      }
    }
    thread.known.add(message.id)
    this.#drop(thread, message.id)
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
      else if (!isFinal(error)) throw error
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
    this.#timer = setTimeout(() => void this.#retry(), this.#retryEvery)
    // The application may end; the next checkpoint of the thread contains its messages again.
    const timer: unknown = this.#timer
    if (isRecord(timer) && typeof timer.unref === 'function') timer.unref()
  }

  /** One thread after the other, until the registry does not answer again. */
  async #retry(): Promise<void> {
    this.#timer = undefined
    this.#isRetrying = true
    for (const [id, thread] of [...this.#threads]) {
      if (!isWaiting(thread)) continue
      await this.#report(id)
        .catch((error: unknown) => this.#forgetErased(id, error))
        .catch((error: unknown) => this.#options.onProblem?.(error, id))
      if (this.#isDown) break
    }
    this.#isRetrying = false
    if ([...this.#threads.values()].some(isWaiting)) this.#retryLater()
  }
}
