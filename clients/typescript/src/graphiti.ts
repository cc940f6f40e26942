import { currentConfig, type Recorder, threadOf } from './recorder.ts'

export interface GraphitiOptions {
  /** The address of Graphiti's REST service. */
  url: string
  /** Your own fetch, for proxies or authentication. */
  fetch?: typeof fetch
}
export interface GraphitiMessage {
  content: string
  role_type: 'user' | 'assistant' | 'system'
  /** The name of the speaker. */
  role?: string
  name?: string
  timestamp?: string
  source_description?: string
}
export interface GraphitiFact {
  uuid: string
  name: string
  fact: string
  valid_at: string | null
  invalid_at: string | null
  created_at: string
  expired_at: string | null
}

/** Graphiti's REST service refused a request, or did not answer. */
export class GraphitiFault extends Error {
  readonly status: number
  constructor(status: number, options?: ErrorOptions) {
    super(status === 0 ? 'Graphiti did not answer.' : `Graphiti answered ${status}.`, options)
    this.name = 'GraphitiFault'
    this.status = status
  }
}

/**
 * Graphiti's REST service, for one project: episodes are written into the graph group of the project, where an erasure finds them, and
 * searches read only this group. Within a node or a tool of LangGraph, late messages of an erased thread are refused.
 */
export class RecordedGraphiti {
  readonly #recorder: Recorder
  readonly #url: string
  readonly #fetch: typeof fetch

  constructor(recorder: Recorder, { url, fetch: call = fetch }: GraphitiOptions) {
    this.#recorder = recorder
    this.#url = url.replace(/\/+$/, '')
    this.#fetch = call
  }

  /**
   * Adds messages as episodes. The service stores them later.
   * @throws ErasedThread if the thread may not be written
   */
  async addMessages(
    messages: readonly GraphitiMessage[],
    { thread = threadOf(currentConfig()) }: { thread?: string } = {},
  ): Promise<void> {
    if (thread !== undefined) await this.#recorder.admit(thread)
    const timestamp = new Date().toISOString()
    await this.#post('/messages', {
      group_id: await this.#recorder.group(),
      messages: messages.map((message) => ({ name: '', role: '', source_description: '', timestamp, ...message })),
    })
  }

  /** Facts of the project. */
  async search(query: string, maxFacts = 10): Promise<GraphitiFact[]> {
    const body = { group_ids: [await this.#recorder.group()], query, max_facts: maxFacts }
    const { facts }: { facts: GraphitiFact[] } = await (await this.#post('/search', body)).json()
    return facts
  }

  async #post(path: string, body: object): Promise<Response> {
    let response: Response
    try {
      response = await this.#fetch(this.#url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    } catch (cause) {
      throw new GraphitiFault(0, { cause })
    }
    if (!response.ok) throw new GraphitiFault(response.status)
    return response
  }
}
