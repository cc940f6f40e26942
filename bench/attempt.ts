import { type Agent, request } from 'node:http'

export interface LoadAttempt {
  /** 0: the connection ended without a response. */
  status: number
  body: string
  /** `performance.now()` when it was sent, and when the complete response had arrived. */
  began: number
  ended: number
}
export interface Asked {
  url: string
  method: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  body?: string
}

/** Sends one request and returns its response, whatever it is. */
export function attempt(agent: Agent, { url, method, headers = {}, body }: Asked): Promise<LoadAttempt> {
  const began = performance.now()
  return new Promise((answered) => {
    const over = (status: number, text = '') => answered({ status, body: text, began, ended: performance.now() })
    const sent = request(url, { agent, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      response.once('end', () => over(response.statusCode ?? 0, text)).once('error', () => over(0))
    })
    sent.once('error', () => over(0))
    sent.end(body)
  })
}

/** The number of attempts with each status. */
export const countsOf = (attempts: readonly Pick<LoadAttempt, 'status'>[]): Map<number, number> =>
  attempts.reduce((counts, { status }) => counts.set(status, (counts.get(status) ?? 0) + 1), new Map<number, number>())

export const tookOf = ({ began, ended }: LoadAttempt): number => ended - began
