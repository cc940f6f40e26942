import { currentThreads, ErasedThread, type Recorder } from './recorder.ts'

export * from './recorder.ts'

/** What it needs of a long-term store of LangGraph. Not imported, so that the client has no dependency. */
export interface LongTermStore {
  batch(operations: never): Promise<unknown[]>
  get(namespace: string[], key: string): Promise<StoredItem | null>
  search(namespacePrefix: string[], options?: object): Promise<StoredItem[]>
  put(namespace: string[], key: string, value: Record<string, unknown>, ...rest: never[]): Promise<void>
  delete(namespace: string[], key: string): Promise<void>
  listNamespaces(options?: NamespaceOptions): Promise<string[][]>
  start(): unknown
  stop(): unknown
}
interface StoredItem {
  namespace: string[]
  key: string
}
interface NamespaceOptions {
  prefix?: string[]
  suffix?: string[]
  maxDepth?: number
  limit?: number
  offset?: number
}
type Operation =
  | { namespace: string[]; key: string; value?: unknown }
  | { namespacePrefix: string[] }
  | { matchConditions?: { matchType: string; path: string[] }[] | undefined; maxDepth?: number | undefined }
type Write = { namespace: string[]; key: string; value: unknown }

const isItem = (value: unknown): value is StoredItem =>
  typeof value === 'object' && value !== null && 'namespace' in value && 'key' in value
const isWrite = (operation: Operation): operation is Write => 'key' in operation && operation.value !== undefined

/**
 * The same store, with the items of this project only, so that its erasure finds every item. The id of the project precedes each key and,
 * with `-` instead of the `_` that some stores refuse, each namespace. The application does not see it.
 *
 * A late write of an erased thread throws {@link ErasedThread}, also of `config.store`, whose writes LangGraph collects: then the run needs a
 * saver of the recorder, which knows its thread.
 */
export function recordedStore<S extends LongTermStore>(store: S, recorder: Recorder): Pick<S, keyof LongTermStore> {
  const { project } = recorder
  const label = project.replaceAll('_', '-')
  const inside = (namespace: readonly string[]) => [label, ...namespace]
  const keyOf = (key: string) => `${project}:${key}`
  const isOwn = ({ namespace, key }: StoredItem) => namespace[0] === label && key.startsWith(`${project}:`)
  const outside = <T extends StoredItem>(item: T): T => ({
    ...item,
    namespace: item.namespace.slice(1),
    key: item.key.slice(project.length + 1),
  })
  const ownNamespaces = (namespaces: readonly string[][]) =>
    namespaces.flatMap(([first, ...rest]) => (first === label ? [rest] : []))
  const deeper = (maxDepth: number | undefined) => (maxDepth === undefined ? {} : { maxDepth: maxDepth + 1 })

  function operationInside(operation: Operation): Operation {
    if ('key' in operation) return { ...operation, namespace: inside(operation.namespace), key: keyOf(operation.key) }
    if ('namespacePrefix' in operation) return { ...operation, namespacePrefix: inside(operation.namespacePrefix) }
    const conditions = (operation.matchConditions ?? []).map((one) =>
      one.matchType === 'prefix' ? { ...one, path: inside(one.path) } : one,
    )
    if (!conditions.some(({ matchType }) => matchType === 'prefix'))
      conditions.push({ matchType: 'prefix', path: [label] })
    return { ...operation, matchConditions: conditions, ...deeper(operation.maxDepth) }
  }
  function resultOutside(operation: Operation, result: unknown): unknown {
    if ('key' in operation) return isItem(result) ? outside(result) : result
    if (!Array.isArray(result)) return result
    return 'namespacePrefix' in operation ? result.filter(isItem).filter(isOwn).map(outside) : ownNamespaces(result)
  }

  /** Refuses the writes of an erased thread, and undoes writes during which it was erased. */
  async function guarded<T>(writes: readonly Write[], write: () => Promise<T>): Promise<T> {
    const given = writes.filter(({ value }) => value !== null)
    if (given.some(({ namespace }) => namespace.length === 0))
      throw new TypeError('The namespace of an item is empty. Name at least one label.')
    const threads = given.length > 0 ? currentThreads() : []
    for (const thread of threads) await recorder.admit(thread)
    const written = await write()
    try {
      for (const thread of threads) await recorder.admit(thread)
    } catch (error) {
      if (error instanceof ErasedThread)
        for (const { namespace, key } of given) await store.delete(inside(namespace), keyOf(key))
      throw error
    }
    return written
  }

  const recorded: LongTermStore = {
    async batch(operations: readonly Operation[]) {
      const results = await guarded(operations.filter(isWrite), () =>
        store.batch(operations.map(operationInside) as never),
      )
      return operations.map((operation, at) => resultOutside(operation, results[at]))
    },
    async get(namespace, key) {
      const item = await store.get(inside(namespace), keyOf(key))
      return item ? outside(item) : item
    },
    async search(namespacePrefix, options) {
      return (await store.search(inside(namespacePrefix), options)).filter(isOwn).map(outside)
    },
    put: (namespace, key, value, ...rest) =>
      guarded([{ namespace, key, value }], () => store.put(inside(namespace), keyOf(key), value, ...rest)),
    delete: (namespace, key) => store.delete(inside(namespace), keyOf(key)),
    async listNamespaces(options = {}) {
      const { prefix = [], maxDepth, ...rest } = options
      return ownNamespaces(await store.listNamespaces({ ...rest, prefix: inside(prefix), ...deeper(maxDepth) }))
    },
    start: () => store.start(),
    stop: () => store.stop(),
  }
  return recorded as Pick<S, keyof LongTermStore>
}
