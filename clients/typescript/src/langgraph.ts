import type { KnowledgePulse } from './client.ts'
import { Conflict, Erased, Fenced, IdInUse, Invalid, NotFound, RegistryProblem } from './problems.ts'

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
}

export interface RecorderOptions {
  client: KnowledgePulse
  /** The id of the project that the conversations belong to. */
  project: string
  /** Who wrote the human messages of a run. Without it, the agent of the token is their author. */
  author?: (config: ThreadConfig) => ThreadAuthor | undefined
  /** By default the id of the thread. */
  title?: (thread: string) => string
  /** Called for everything that could not be reported yet, and for what the registry refuses. The application goes on. */
  onProblem?: (error: unknown, thread: string) => void
}

/** The thread was erased, or is being erased. Nothing of it may be written again. */
export class ErasedThread extends Error {
  readonly thread: string
  constructor(thread: string, options?: ErrorOptions) {
    super('This thread was erased, so its checkpoint was not stored. Start a new thread.', options)
    this.name = 'ErasedThread'
    this.thread = thread
  }
}

interface RecordedMessage {
  id: string
  role: 'user' | 'assistant' | 'system' | 'tool'
  content: string
  author?: ThreadAuthor
}
interface Thread {
  /** Undefined until it is registered. */
  conversation: string | undefined
  /** Ids that the registry has. */
  known: Set<string>
  waiting: Map<string, RecordedMessage>
  /** Whether something was written without an answer of the registry. */
  isUnchecked: boolean
  /** Deletes the checkpoints that were written before the registry said that the thread is erased. */
  forget: () => Promise<void>
  /** Reports of a thread are sent one after the other. */
  turn: Promise<unknown>
}

const roles: Readonly<Record<string, RecordedMessage['role']>> = {
  human: 'user',
  ai: 'assistant',
  system: 'system',
  tool: 'tool',
  function: 'tool',
}
const deepest = 6
const retryEvery = 5_000
/** The registry stores a message of at most this many characters. A longer one is found by its words. */
const longest = 200_000

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Whether a repetition would be refused again: this message cannot be stored, but the following ones can. */
const isFinal = (error: unknown): boolean =>
  error instanceof RegistryProblem && (error.status === 413 || error.status === 422 || error.code === 'restricted')

/** LangChain's messages, as objects or as they are serialized. */
function messageOf(value: Record<string, unknown>): Omit<RecordedMessage, 'author'> | undefined {
  const { id, content, type, getType } = value
  const kind = typeof getType === 'function' ? String(getType.call(value)) : typeof type === 'string' ? type : ''
  const role = roles[kind]
  if (role === undefined || typeof id !== 'string' || id === '' || content === undefined) return undefined
  const calls = Array.isArray(value.tool_calls) && value.tool_calls.length > 0 ? value.tool_calls : undefined
  const said = typeof content === 'string' ? content : JSON.stringify(content)
  const text = said === '' || said === '[]' ? JSON.stringify(calls ?? '') : said
  return { id, role, content: text.slice(0, longest) }
}
function* messagesIn(value: unknown, depth = 0): Generator<Omit<RecordedMessage, 'author'>> {
  if (!isRecord(value) || depth > deepest) return
  const message = Array.isArray(value) ? undefined : messageOf(value)
  if (message) yield message
  else for (const inner of Object.values(value)) yield* messagesIn(inner, depth + 1)
}

/**
 * Records the provenance of LangGraph's checkpoints: each thread becomes a conversation of the project, and each of its messages a message
 * with the same id, so that an erasure finds both. Refuses late writes of erased threads.
 */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #threads = new Map<string, Thread>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** The same saver, which records what passes through it. It has exactly the methods of the saver. */
  checkpoints<S extends CheckpointSaver>(saver: S): S {
    const put = (...args: Parameters<CheckpointSaver['put']>) => {
      const [config, { channel_values: values }] = args
      return this.#guarded(saver, config, values, () => saver.put(...args))
    }
    const putWrites = (...args: Parameters<CheckpointSaver['putWrites']>) => {
      const [config, writes] = args
      return this.#guarded(saver, config, writes, () => saver.putWrites(...args))
    }
    return new Proxy(saver, {
      get(target, name) {
        if (name === 'put') return put
        if (name === 'putWrites') return putWrites
        const member: unknown = Reflect.get(target, name, target)
        // Bound, because savers have private fields.
        return typeof member === 'function' ? member.bind(target) : member
      },
      set: (target, name, value) => Reflect.set(target, name, value, target),
    })
  }

  /**
   * Waits until everything was reported, and what was written of erased threads is deleted.
   * @throws the last problem if the registry still does not answer
   */
  async settle(): Promise<void> {
    for (const id of this.#threads.keys())
      await this.#report(id, true).catch((error: unknown) => this.#forgetErased(id, error))
  }

  /** Reports what is waiting, and ends the retries. */
  async close(): Promise<void> {
    try {
      await this.settle()
    } finally {
      clearTimeout(this.#timer)
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
    try {
      await thread.forget()
      this.#threads.delete(id)
    } catch (problem) {
      thread.isUnchecked = true
      this.#retryLater()
      throw problem
    }
  }

  async #guarded<T>(
    saver: { deleteThread(thread: string): Promise<void> },
    config: ThreadConfig,
    values: unknown,
    write: () => Promise<T>,
  ): Promise<T> {
    const id: unknown = config.configurable?.thread_id
    if (typeof id !== 'string' || id === '') return write()
    const thread = this.#threadOf(id, () => saver.deleteThread(id))
    const author = this.#options.author?.(config)
    const refuse = async (error: unknown): Promise<never> => {
      await this.#forgetErased(id, error).catch((problem: unknown) => this.#options.onProblem?.(problem, id))
      throw new ErasedThread(id, { cause: error })
    }
    // Before the first checkpoint, because a thread that has checkpoints may belong to somebody else.
    await this.#report(id).catch(refuse)
    const written = await write()
    for (const message of messagesIn(values))
      if (!thread.known.has(message.id))
        thread.waiting.set(message.id, {
          ...message,
          ...(author && message.role === 'user' && { author }),
        })
    // An erasure may have begun and ended during the write.
    await this.#report(id).catch(refuse)
    return written
  }

  #threadOf(id: string, forget: () => Promise<void>): Thread {
    const known = this.#threads.get(id)
    if (known) return known
    const made: Thread = {
      conversation: undefined,
      known: new Set(),
      waiting: new Map(),
      isUnchecked: false,
      forget,
      turn: Promise.resolve(),
    }
    this.#threads.set(id, made)
    return made
  }

  /**
   * Reports the thread and its waiting messages. A fault of the registry is noted, and reported later; with `throws` it is thrown.
   * @throws Erased, Fenced if the thread may not be written
   */
  #report(id: string, throws = false): Promise<void> {
    const thread = this.#threads.get(id)
    if (!thread) return Promise.resolve()
    const turn = thread.turn.then(() =>
      this.#send(id, thread).then(
        () => {
          thread.isUnchecked = false
        },
        (error: unknown) => {
          if (error instanceof Erased || error instanceof Fenced) {
            thread.waiting.clear()
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
    const { client, project: projectId } = this.#options
    const isNew = thread.conversation === undefined
    const conversationId = thread.conversation ?? (await this.#register(id))
    thread.conversation = conversationId
    const at = { projectId, conversationId }
    if (!isNew && thread.waiting.size === 0) await this.#requireLiving(id, at)
    for (const message of [...thread.waiting.values()]) {
      try {
        await client.post('/api/projects/{projectId}/conversations/{conversationId}/messages', {
          params: at,
          body: message,
        })
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
          if (error instanceof Fenced) {
            this.#retryLater()
            continue
          }
        }
      }
      thread.known.add(message.id)
      thread.waiting.delete(message.id)
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
    await client.post('/api/projects/{projectId}/conversations', {
      params: { projectId },
      body: { id: conversationId, title: title(id).slice(0, 200), threads: [conversationId] },
    })
  }

  /** @throws Erased, Fenced */
  async #requireLiving(id: string, params: { projectId: string; conversationId: string }): Promise<void> {
    try {
      await this.#options.client.get('/api/projects/{projectId}/conversations/{conversationId}', { params })
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
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      for (const [id, thread] of this.#threads)
        if (thread.isUnchecked || thread.waiting.size > 0)
          this.#report(id)
            .catch((error: unknown) => this.#forgetErased(id, error))
            .catch((error: unknown) => this.#options.onProblem?.(error, id))
    }, retryEvery)
    // The application may end; the next checkpoint of the thread contains its messages again.
    const timer: unknown = this.#timer
    if (isRecord(timer) && typeof timer.unref === 'function') timer.unref()
  }
}
