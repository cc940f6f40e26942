import type { Answered, Asked, Question, QuestionName, Questions, VaultCode } from './vault-protocol.ts'

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
 * The worker that makes keys of passphrases, so that the page stays alive meanwhile, and that alone has the master key. It begins with the
 * first question; {@link Vault.lock} ends it, and whatever it was asked is refused as `locked`.
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

  /** Throws {@link VaultRefusal}. */
  async ask<N extends QuestionName>(name: N, asks: Questions[N]['asks']): Promise<Questions[N]['gives']> {
    if (!isSecureContext || crypto.subtle === undefined) throw new VaultRefusal('insecure')
    const number = ++this.#asked
    const asked: Asked = { number, question: { name, asks } as Question }
    return new Promise((give, refuse) => {
      // The worker answers each question with what belongs to its name.
      this.#waiting.set(number, { give: (answer) => give(answer as Questions[N]['gives']), refuse })
      this.#begun().postMessage(asked)
    })
  }

  lock(): void {
    this.#end('locked')
  }
}
