import type { Answered, Question, QuestionName, Questions, VaultCode, VaultRequest } from './vault-protocol.ts'

class VaultRefusal extends Error {
  readonly code: VaultCode
  constructor(code: VaultCode) {
    super(code)
    this.name = 'VaultRefusal'
    this.code = code
  }
}
export const vaultCode = (error: unknown): VaultCode => (error instanceof VaultRefusal ? error.code : 'failed')

interface Waiting {
  give: (answer: unknown) => void
  refuse: (refusal: VaultRefusal) => void
}

/**
 * A worker that derives keys without blocking the page and is the only holder of the master key. It starts with the first request. {@link
 * Vault.lock} ends it and rejects pending requests with `locked`.
 */
export class Vault {
  #worker: Worker | undefined
  #asked = 0
  readonly #waiting = new Map<number, Waiting>()

  #refuseAll(code: VaultCode): void {
    for (const { refuse } of this.#waiting.values()) refuse(new VaultRefusal(code))
    this.#waiting.clear()
  }
  #end(code: VaultCode): void {
    this.#worker?.terminate()
    this.#worker = undefined
    this.#refuseAll(code)
  }
  #begun(): Worker {
    if (this.#worker) return this.#worker
    const worker = new Worker(new URL('./vault-worker.ts', import.meta.url), { type: 'module' })
    worker.addEventListener('message', ({ data }: MessageEvent<Answered>) => {
      const waiting = this.#waiting.get(data.number)
      this.#waiting.delete(data.number)
      if ('refused' in data) waiting?.refuse(new VaultRefusal(data.refused))
      else waiting?.give(data.gives)
    })
    worker.addEventListener('error', () => this.#end('failed'))
    this.#worker = worker
    return worker
  }

  /** @throws {@link VaultRefusal} */
  async ask<N extends QuestionName>(name: N, asks: Questions[N]['asks']): Promise<Questions[N]['gives']> {
    if (!isSecureContext || crypto.subtle === undefined) throw new VaultRefusal('insecure')
    const number = ++this.#asked
    const asked: VaultRequest = { number, question: { name, asks } as Question }
    return new Promise((give, refuse) => {
      // The worker answers each request with the result type of its name.
      this.#waiting.set(number, { give: (answer) => give(answer as Questions[N]['gives']), refuse })
      this.#begun().postMessage(asked)
    })
  }

  lock(): void {
    this.#end('locked')
  }
}
